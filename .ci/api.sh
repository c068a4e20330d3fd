#!/usr/bin/env bash
# Lists the public API of every published crate in docs/api/, or compares it with the committed list.
#   .ci/api.sh            rewrites the lists
#   .ci/api.sh --check    fails if the API differs from the lists
# Needs a nightly toolchain and cargo-public-api. Exits with 3 if the two cannot list the API.
set -euo pipefail
cd "$(dirname "$0")/.."
target=docs/api
if [ "${1-}" = --check ]; then target=$(mktemp -d); fi
for crate in treering treering-agent treering-client treering-display treering-export treering-index treering-mcp treering-postgres treering-redact treering-search treering-server treering-tui treering-usage; do
  cargo +nightly public-api -p "$crate" -sss --color never > "$target/$crate.txt" 2>/dev/null || exit 3
done
if [ "${1-}" = --check ]; then
  diff -ru docs/api "$target" || { echo "The public API changed: look at the difference, then run .ci/api.sh and commit docs/api." >&2; exit 1; }
  echo "public API as listed: $(cat "$target"/*.txt | wc -l) items"
fi
