#!/bin/sh
# Opens HTML exports in a headless browser: tree, filters, search, branches, links, and that nothing in
# a hostile session runs or loads.
#   conformance/html/run.sh [CACHE_DIR]
# CACHE_DIR holds playwright-core between runs (default: target/html-check).
# TREERING_BIN names the binary (default: target/release/treering), CHROMIUM the browser,
# SHOTS a directory for screenshots.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
cache=${1:-$here/../../target/html-check}

# Without a browser there is nothing to check with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "HTML EXPORT NOT CHECKED: $1" >&2
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
if [ ! -d "$cache/node_modules/playwright-core" ]; then
  (cd "$cache" && npm init -y >/dev/null 2>&1 && npm install --no-audit --no-fund playwright-core@1.64.1 >/dev/null 2>&1) || skip "playwright-core could not be installed"
fi
: "${TREERING_BIN:=$here/../../target/release/treering}"
export TREERING_BIN CHROMIUM
exec node "$here/main.mjs" "$cache"
