#!/bin/sh
# Talks to `treering mcp` with the official Python SDK of the Model Context Protocol.
#   conformance/mcp/run.sh [CACHE_DIR]
# CACHE_DIR holds the package between runs (default: target/mcp-check).
# TREERING_BIN names the binary (default: target/release/treering).
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
cache=${1:-$here/../../target/mcp-check}

# Without the package there is nothing to talk with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "MCP NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}

command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
mkdir -p "$cache" || skip "cannot create $cache"
cache=$(CDPATH= cd -- "$cache" && pwd) || exit 1
pinned="mcp==$(cat "$here/version")"
if [ "$(cat "$cache/installed" 2>/dev/null)" != "$pinned" ]; then
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" || skip "python3 has no venv"
  "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "$pinned" || skip "the Python SDK could not be installed"
  echo "$pinned" > "$cache/installed"
fi

: "${TREERING_BIN:=$here/../../target/release/treering}"
export TREERING_BIN
exec "$cache/venv/bin/python" "$here/check.py"
