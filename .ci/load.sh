#!/usr/bin/env bash
# Runs the test suite many times, several runs at once, so that the machine is busy and the runs disturb each other. Prints a
# line for each run, keeps the output of failed runs, and fails if a run fails.
#   .ci/load.sh [RUNS] [AT_ONCE]     (default: 20 runs, 5 at once; takes about an hour on two cores)
set -euo pipefail
cd "$(dirname "$0")/.."
runs="${1:-20}" at_once="${2:-5}"
logs=target/load
rm -rf "$logs" && mkdir -p "$logs"
export CARGO_TERM_COLOR=never logs

cargo test --workspace --locked --quiet --no-run

one() {
  local log="$logs/$1.log" code=0
  cargo test --workspace --locked --no-fail-fast > "$log" 2>&1 < /dev/null || code=$?
  # The numbers of all programs of the suite together.
  awk -v run="$1" -v code="$code" -v load="$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown)" \
    '/^test result:/ { passed += $4; failed += $6 }
     END { printf "run %s: %d passed, %d failed, exit code %d, load %s\n", run, passed, failed, code, load }' "$log"
  grep -E '^test .* FAILED$' "$log" || true
  return "$code"
}
export -f one

if seq "$runs" | xargs -P "$at_once" -I{} bash -c 'one {}'; then
  echo "all $runs runs passed"
else
  echo "FAILED: a run failed; its output is in $logs"
  exit 1
fi
