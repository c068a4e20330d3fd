#!/bin/sh
# Drives the web page of `treering serve` in a headless browser: the list, a session, live updates with two browsers
# and another writer, verbs, a model, hostile sessions, a phone, accessibility, and that nothing is loaded from elsewhere.
#   conformance/page/run.sh [CACHE_DIR]
# CACHE_DIR holds the packages between runs (default: target/page-check).
# TREERING_BIN names the binary (default: target/release/treering), CHROMIUM the browser,
# SHOTS a directory for screenshots, ONLY a part of the names of checks; ASSETS a directory with files that replace those in the
# binary; CORPUS=no leaves out sample sessions.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
cache=${1:-$here/../../target/page-check}

# Without a browser there is nothing to check with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "WEB PAGE NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}

command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"
if [ -z "${CHROMIUM:-}" ]; then
  CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium is installed"
fi
mkdir -p "$cache" || skip "cannot create $cache"
cache=$(CDPATH= cd -- "$cache" && pwd) || exit 1
if [ ! -d "$cache/node_modules/axe-core" ] || [ ! -d "$cache/node_modules/playwright-core" ] || [ ! -d "$cache/node_modules/typescript" ]; then
  (cd "$cache" && npm init -y >/dev/null 2>&1 && npm install --no-audit --no-fund playwright-core@1.64.1 typescript@5.9.3 axe-core@4.11.0 >/dev/null 2>&1) || skip "the packages could not be installed"
fi
: "${TREERING_BIN:=$here/../../target/release/treering}"
export TREERING_BIN CHROMIUM
"$cache/node_modules/.bin/tsc" -p "$here/../../crates/treering-server/src/page/assets" || exit 1
echo "ok    the types of the page's modules"
exec node "$here/main.mjs" "$cache"
