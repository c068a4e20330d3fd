// What all pages have: theme, help, the status in the bar.

import { byId, isPlainKey } from './dom.js';

const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Light or dark: the reader's choice, else the system's. The choice is a cookie, so that the server knows it. */
export function toggleTheme() {
  const now = root.dataset.theme || (dark.matches ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
  document.cookie = `treering_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
}

/** Shows the keys of the page. */
export function showKeys() {
  const keys = document.getElementById('keys');
  if (keys instanceof HTMLDialogElement) keys.showModal();
}

/**
 * Says something in the bar.
 * @param {string} text
 * @param {'ok' | 'wait' | 'bad'} [kind]
 */
export function status(text, kind = 'ok') {
  const element = byId('status');
  if (element.textContent === text && element.dataset.kind === kind) return;
  element.textContent = text;
  element.dataset.kind = kind;
}

/** Binds what the bar has. */
export function begin() {
  byId('theme').addEventListener('click', toggleTheme);
  byId('help').addEventListener('click', showKeys);
  addEventListener('keydown', event => {
    if (!isPlainKey(event)) return;
    if (event.key === 't') toggleTheme();
    else if (event.key === '?') showKeys();
    else return;
    event.preventDefault();
  });
}
