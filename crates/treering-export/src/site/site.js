// Searches the sessions of a static site. The words of the sessions are in scripts by their first two letters,
// which are loaded when a search needs them: a page on a disk can load scripts and nothing else.
"use strict";
const shards = new Map();
const items = [...document.querySelectorAll("li[data-n]")];
const titles = items.map((item) => item.textContent.toLowerCase());

/** Called by the scripts of the search index. */
function found(name, words) {
  shards.set(name, new Map(Object.entries(words)));
  search();
}

const shardOf = (word) => [...word].slice(0, 2).map((c) => c.codePointAt(0).toString(16) + ".").join("") + "js";

function load(name) {
  if (shards.has(name)) return;
  shards.set(name, null);
  const script = document.createElement("script");
  script.src = "search/" + name;
  script.onerror = () => found(name, {});
  document.body.append(script);
}

/** Returns the numbers of the sessions with a word that begins with this one. */
function having(word) {
  if ([...word].length < 2) return null;
  const name = shardOf(word);
  load(name);
  const words = shards.get(name);
  if (!words) return null;
  const numbers = new Set();
  for (const [known, pages] of words) if (known.startsWith(word)) for (const page of pages) numbers.add(page);
  return numbers;
}

function search() {
  const words = document.getElementById("q").value.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const sets = words.map(having);
  let shown = 0;
  items.forEach((item, at) => {
    const number = Number(item.dataset.n);
    item.hidden = !words.every((word, i) => titles[at].includes(word) || sets[i]?.has(number));
    if (!item.hidden) shown++;
  });
  for (const list of document.querySelectorAll("ul")) {
    const isEmpty = ![...list.children].some((item) => !item.hidden);
    list.hidden = list.previousElementSibling.hidden = isEmpty;
  }
  for (const section of document.querySelectorAll("section")) section.hidden = ![...section.querySelectorAll("ul")].some((list) => !list.hidden);
  document.getElementById("n").textContent = words.length ? `${shown} of ${items.length}` : "";
  const address = words.length ? "#" + encodeURIComponent(document.getElementById("q").value) : "#";
  if (location.hash !== address) history.replaceState(null, "", address);
}

try {
  document.getElementById("q").value = decodeURIComponent(location.hash.slice(1));
} catch {
  // An address that the user typed may be no search.
}
document.getElementById("q").addEventListener("input", search);
search();
document.documentElement.dataset.ready = "";
