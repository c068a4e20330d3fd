#!/bin/sh
# Drives the terminal interface in a real terminal (tmux), as a person would: tree, picker, chat against
# a scripted server on loopback; and that the terminal is as it was afterwards, however it was left.
#   conformance/terminal/run.sh [NAME...]     only the checks whose names contain one of the words
# TREERING_BIN names the binary (default: target/release/treering), PANIC_BIN the example that panics.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1

# Without a terminal there is nothing to check with: fatal in CI, a loud skip elsewhere.
skip() {
  echo "TERMINAL INTERFACE NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}

command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v tmux >/dev/null 2>&1 || skip "tmux is not installed"
: "${TREERING_BIN:=$here/../../target/release/treering}"
: "${PANIC_BIN:=$here/../../target/release/examples/panic}"
export TREERING_BIN PANIC_BIN
exec node "$here/main.mjs" "$@"
