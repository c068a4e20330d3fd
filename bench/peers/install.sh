#!/usr/bin/env bash
# install.sh DIR: installs the agents that treering is compared with, and writes
# DIR/peers.json, which says how to run each driver. Peers that are already there
# are kept; one that cannot be installed is named on stderr and left out.
set -uo pipefail

PI=1.5.0        # needs node >= 22.19, so a node comes with it
NODE=24.21.0
OMP=18.2.3      # the newest release all of whose own packages can be installed
BUN=1.4.4
CHIMERA=0.9.2.3
# Frameworks that keep their sessions in PostgreSQL (stores.py).
STORES="langgraph==1.2.22 langgraph-checkpoint-postgres==3.2.0 psycopg[binary]==3.3.9 openai-agents[sqlalchemy]==0.24.0 asyncpg==0.32.0"

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 1
mkdir -p "$1/home" && dir=$(cd "$1" && pwd) || exit 1
entries=()

npm_install() ( # DIRECTORY PACKAGE...
  cd "$1" && shift && echo '{"private":true}' >package.json &&
    npm install --no-audit --no-fund --loglevel=error "$@"
)

# Unpacks a published package without its dependencies.
unpack() ( # PACKAGE@VERSION DIRECTORY
  rm -rf "$2" && mkdir -p "$2" && cd "$2" &&
    npm pack --loglevel=error "$1" && tar xzf ./*.tgz --strip-components=1 && rm ./*.tgz
)

# The session manager needs two small functions of pi-ai and nothing else of
# it. A stand-in package that re-exports just these from the published files saves pi the
# loading of pi-ai's whole index, and the installing of what only that needs.
install_pi() {
  local scope=node_modules/@earendil-works
  npm_install "$dir/pi" "node@$NODE" cross-spawn@7.0.6 &&
    unpack "@earendil-works/pi-coding-agent@$PI" "$dir/pi/$scope/pi-coding-agent" &&
    unpack "@earendil-works/pi-ai@$PI" "$dir/pi/pi-ai" &&
    mkdir -p "$dir/pi/$scope/pi-ai" &&
    echo '{"name":"@earendil-works/pi-ai","type":"module","exports":"./index.js"}' \
      >"$dir/pi/$scope/pi-ai/package.json" &&
    cat >"$dir/pi/$scope/pi-ai/index.js" <<'JS'
export { getCurrentSystemMessage } from "../../../pi-ai/dist/utils/transcript.js";
export { uuidv7 } from "../../../pi-ai/dist/utils/uuid.js";
JS
}

install_omp() {
  npm_install "$dir/omp" "@oh-my-pi/pi-coding-agent@$OMP" "bun@$BUN"
}

install_chimera() {
  python3 -m venv "$dir/chimera" &&
    "$dir/chimera/bin/python" -m pip install -q --disable-pip-version-check "chimera-run==$CHIMERA"
}

json() { printf '"%s"' "$(printf %s "$1" | sed 's/[\\"]/\\&/g')"; }

skip() { echo "peer $1 skipped: $2" >&2; }

# Prints the most informative line of a log, without addresses of servers.
reason() {
  grep -v :// "$1" | grep -i error | grep -viE 'error code|complete log' | head -n1 | cut -c1-200 | grep . ||
    tail -n1 "$1" | cut -c1-200
}

# Installs one peer unless its stamp says it is there, tries its driver once,
# and notes how to run it.
peer() { # NAME VERSION RUNTIME DRIVER PROGRAM
  local name=$1 version=$2 runtime=$3 driver=$4 program=$5
  local home=$dir/$name log=$dir/$name.log want="$2 on $3" argv=() word try
  if [ "$(cat "$home/.stamp" 2>/dev/null)" != "$want" ]; then
    # What is removed here must be what an earlier run of this script left.
    if [ -e "$home" ] && [ ! -e "$home/.stamp" ]; then
      skip "$name" "$home is there already, and not from this script"
      return
    fi
    rm -rf "$home" && mkdir -p "$home" && echo unfinished >"$home/.stamp"
    "install_$name" >"$log" 2>&1 || { skip "$name" "$(reason "$log")"; return; }
    echo "$want" >"$home/.stamp"
  fi
  # Beside the packages, so that imports resolve; anew each time, so that it is current.
  cp "$here/$driver" "$here/common.mjs" "$home/"
  # Peers keep state in the home directory: give them one of their own.
  local cmd=(env "HOME=$dir/home" "$program" "$home/$driver")
  try=$(mktemp -d)
  if "${cmd[@]}" append "$try" 2 16 >"$log" 2>&1; then
    for word in "${cmd[@]}"; do argv+=("$(json "$word")"); done
    entries+=("$(json "$name"):{\"version\":$(json "$version"),\"runtime\":$(json "$runtime"),\"cmd\":[$(IFS=,; echo "${argv[*]}")]}")
  else
    skip "$name" "its driver fails: $(reason "$log")"
  fi
  rm -rf "$try"
}

peer pi "$PI" "node $NODE" pi.mjs "$dir/pi/node_modules/.bin/node"
peer omp "$OMP" "bun $BUN" omp.mjs "$dir/omp/node_modules/.bin/bun"
peer chimera "$CHIMERA" "$(python3 --version 2>&1)" chimera.py "$dir/chimera/bin/python"

if ! [ -e "$dir/stores/installed" ]; then
  log=$(mktemp)
  # shellcheck disable=SC2086
  if python3 -m venv "$dir/stores" >"$log" 2>&1 && "$dir/stores/bin/python" -m pip install --quiet $STORES >"$log" 2>&1; then
    touch "$dir/stores/installed"
  else
    rm -rf "$dir/stores"
    skip "the frameworks with PostgreSQL" "$(reason "$log")"
  fi
  rm -f "$log"
fi

(IFS=,; printf '{%s}\n' "${entries[*]-}") >"$dir/peers.json"
