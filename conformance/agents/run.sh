#!/usr/bin/env bash
# Lets the real agents write sessions with a scripted model, and reads them with treering.
# Usage: conformance/agents/run.sh [CACHE_DIR]; TREERING_BIN is the program to check.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-$here/../../target/agents-check}
bin=${TREERING_BIN:-$here/../../target/release/treering}
missing() {
  echo "agents: $1"
  [ "${CI:-}" = true ] && exit 1
  exit 0
}
command -v npm >/dev/null || missing "npm is not installed"
[ -x "$bin" ] || missing "$bin is not there: build it, or set TREERING_BIN"
mkdir -p "$cache/agents"
agents=$(cd "$cache/agents" && pwd)
while read -r name package; do
  dir=$agents/$name-${package##*@}
  [ -d "$dir/package" ] && continue
  rm -rf "$dir.new" && mkdir -p "$dir.new"
  (cd "$dir.new" && npm pack --silent "$package" >/dev/null && tar xf ./*.tgz && rm ./*.tgz) || missing "npm does not have $package"
  rm -rf "$dir" && mv "$dir.new" "$dir"
done <"$here/versions"
exec node "$here/check.mjs" "$agents" "$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")"
