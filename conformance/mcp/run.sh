#!/bin/sh
# Talks to `treering mcp` and to `/mcp` of `treering serve` with the official Python and TypeScript SDKs of the Model
# Context Protocol.
#   conformance/mcp/run.sh [CACHE_DIR]
# CACHE_DIR holds the packages between runs (default: target/mcp-check).
# TREERING_BIN names the binary (default: target/release/treering).
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
cache=${1:-$here/../../target/mcp-check}

# Without the packages there is nothing to talk with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "MCP NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}

command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"
mkdir -p "$cache" || skip "cannot create $cache"
cache=$(CDPATH= cd -- "$cache" && pwd) || exit 1
pinned="mcp==$(cat "$here/version")"
if [ "$(cat "$cache/installed" 2>/dev/null)" != "$pinned" ]; then
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" || skip "python3 has no venv"
  "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$pinned" || skip "the Python SDK could not be installed"
  echo "$pinned" > "$cache/installed"
fi
pinned="@modelcontextprotocol/sdk@$(cat "$here/version-typescript")"
if [ "$(cat "$cache/installed-typescript" 2>/dev/null)" != "$pinned" ]; then
  rm -rf "$cache/typescript"
  mkdir -p "$cache/typescript" || exit 1
  echo '{"private":true}' > "$cache/typescript/package.json"
  (cd "$cache/typescript" && npm install --silent --no-fund --no-audit "$pinned") || skip "the TypeScript SDK could not be installed"
  echo "$pinned" > "$cache/installed-typescript"
fi
export MCP_SDK="$cache/typescript"

: "${TREERING_BIN:=$here/../../target/release/treering}"
export TREERING_BIN
exec "$cache/venv/bin/python" "$here/check.py"
