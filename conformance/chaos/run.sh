#!/usr/bin/env bash
# Two nodes, a database with a standby, and everything that can fail (chaos.py); many followers (followers.py).
#   CHAOS_SECONDS   how long it goes on (default 40)
set -euo pipefail
ulimit -n 8192 2>/dev/null || true
cd "$(dirname "$0")"
: "${TREERING_BIN:?names the program to test}"
if ! command -v python3 >/dev/null 2>&1; then
  echo "SKIPPED: the chaos test needs Python"
  exit 0
fi
PYTHONDONTWRITEBYTECODE=1 python3 chaos.py "$TREERING_BIN" "${CHAOS_SECONDS:-40}"
PYTHONDONTWRITEBYTECODE=1 python3 followers.py "$TREERING_BIN"
PYTHONDONTWRITEBYTECODE=1 python3 backup.py "$TREERING_BIN"
