// The parts of all pages: theme, help, the status in the bar.

import { byId, isPlainKey } from './dom.js';

const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');

/** Switches between light and dark. The choice is stored in a cookie, so that the server knows it. */
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
 * Shows a status in the bar.
 * @param {string} text
 * @param {'ok' | 'wait' | 'bad'} [kind]
 */
export function status(text, kind = 'ok') {
  const element = byId('status');
  if (element.textContent === text && element.dataset.kind === kind) return;
  element.textContent = text;
  element.dataset.kind = kind;
}

/** Binds the buttons of the bar. */
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
