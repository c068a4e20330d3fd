#!/bin/sh
# Compares `treering usage` with the published package of ccusage on the same files.
#   conformance/usage/run.sh [CACHE_DIR]
# CACHE_DIR holds the package between runs (default: target/usage-check).
# TREERING_BIN names the binary (default: target/release/treering).
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
cache=${1:-$here/../../target/usage-check}

# Without the package there is nothing to compare with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "USAGE NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}

command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' || skip "node 20 or later is needed"
mkdir -p "$cache" || skip "cannot create $cache"
cache=$(CDPATH= cd -- "$cache" && pwd) || exit 1
node "$here/install.mjs" "$cache" || skip "ccusage could not be installed"

: "${TREERING_BIN:=$here/../../target/release/treering}"
export TREERING_BIN
exec node "$here/check.mjs" "$cache"
