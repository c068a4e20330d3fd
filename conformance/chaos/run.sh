#!/usr/bin/env bash
# Two nodes, a database with a standby, and everything that can fail (chaos.py); many followers (followers.py); a backup (backup.py).
#   CHAOS_SECONDS     how long everything fails (default 40)
#   CHAOS_FOLLOWERS   followers, sessions and entries of each (default "2000 200 10")
set -euo pipefail
ulimit -n 8192 2>/dev/null || true
cd "$(dirname "$0")"
: "${TREERING_BIN:?names the program to test}"
if ! command -v python3 >/dev/null 2>&1; then
  echo "SKIPPED: the chaos test needs Python"
  exit 0
fi
export PYTHONDONTWRITEBYTECODE=1
read -ra followers <<< "${CHAOS_FOLLOWERS:-2000 200 10}"
python3 chaos.py "$TREERING_BIN" "${CHAOS_SECONDS:-40}"
python3 followers.py "$TREERING_BIN" "${followers[@]}"
python3 backup.py "$TREERING_BIN"
