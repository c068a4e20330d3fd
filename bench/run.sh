#!/usr/bin/env bash
# run.sh [DIR] [OPTION...]: installs the other agents into DIR (default target/bench/peers), builds
# treering and the benchmark, and prints the table. Options go to the benchmark (`--help`).
set -euo pipefail
cd "$(dirname "$0")/.."

peers=target/bench/peers
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  peers=$1
  shift
fi
# One that cannot be installed is named, here and by the benchmark, and left out.
bench/peers/install.sh "$peers" || echo "PEERS SKIPPED: bench/peers/install.sh failed" >&2
cargo build --release -p treering-cli -p treering-bench
cargo run --release --quiet -p treering-bench -- --peers "$peers" "$@"
