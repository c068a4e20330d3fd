#!/usr/bin/env bash
# Outside programs judge the server by its own document. schemathesis sends what the document allows, and what it does not: no answer
# may be a failure of the server, or one that the document does not describe. openapi-python-client makes a client of the
# document, and that client is used.
#   conformance/server/run.sh [DIRECTORY]   keeps the programs there; without it, everything is temporary
#   TREERING_BIN              the program; without it, the example `serve` of treering-server
#   SCHEMATHESIS_EXAMPLES     examples for every operation (default 25)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
work=${1:-$scratch}
mkdir -p "$work"
work=$(cd "$work" && pwd)
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  echo "SKIPPED: the checks of the API need Python with pip"
  exit 0
fi
if [ ! -x "$work/venv/bin/schemathesis" ]; then
  python3 -m venv "$work/venv"
  if ! "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'schemathesis>=4,<5' 'openapi-python-client>=0.24,<1' httpx attrs python-dateutil; then
    echo "SKIPPED: schemathesis cannot be installed"
    rm -rf "$work/venv"
    exit 0
  fi
fi

# The server has a home of its own: the checks create and remove sessions.
home=$scratch/home
mkdir "$home"
token=tr_conformance-0123456789abcdefghijklmnopqrstuvwxyzAB
printf '%s' "$token" > "$home/token"
chmod 600 "$home/token"
if [ -n "${TREERING_BIN:-}" ]; then
  # A directory: a session of this machine that was written a moment ago is not removed.
  mkdir "$home/store"
  env -i PATH="$PATH" HOME="$home" "$TREERING_BIN" serve --store "$home/store" --listen 127.0.0.1:0 --token-file "$home/token" > "$home/out" 2> "$home/err" &
else
  serve=$(cd "$here/../.." && cargo build --quiet --locked -p treering-server --example serve --message-format=json |
    python3 -c 'import json,sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable")][-1])')
  "$serve" 127.0.0.1:0 "$token" > "$home/out" 2> "$home/err" &
fi
server=$!
for _ in $(seq 300); do
  if grep -q 'listening on ' "$home/out"; then break; fi
  if ! kill -0 "$server" 2>/dev/null; then cat "$home/err" >&2; exit 1; fi
  sleep 0.1
done
url=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' "$home/out" | head -1)
export TREERING_URL=$url TREERING_TOKEN=$token

echo "-- a client made of the document"
rm -rf "$work/client"
PATH="$work/venv/bin:$PATH" "$work/venv/bin/openapi-python-client" generate --url "$url/openapi.json" --output-path "$work/client" --meta none > "$work/client.log" 2>&1 ||
  { cat "$work/client.log" >&2; exit 1; }
"$work/venv/bin/python" -m compileall -q "$work/client"
PYTHONPATH="$work" "$work/venv/bin/python" "$here/use_client.py"

echo "-- schemathesis"
cd "$scratch" # It leaves a directory behind.
PYTHONPATH="$here" SCHEMATHESIS_HOOKS=hooks "$work/venv/bin/schemathesis" run "$url/openapi.json" \
  --header "Authorization: Bearer $token" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method,missing_required_header \
  --exclude-path-regex '/events$' --exclude-operation-id getMetrics \
  --max-examples "${SCHEMATHESIS_EXAMPLES:-25}" --seed 15 --workers 1 --request-timeout 20 \
  --no-color > "$work/schemathesis.log" 2>&1 || { tail -150 "$work/schemathesis.log"; exit 1; }
tail -25 "$work/schemathesis.log"
