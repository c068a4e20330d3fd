#!/usr/bin/env bash
# bindings/node/check.sh [DIR]: builds the npm package, installs it into an empty directory and checks it there.
#
#   TREERING_BIN      the command to pack (default: target/release/treering of this checkout)
#   TREERING_ADDON    a shared library that was built before; cargo builds it otherwise
#   NODE_CHECK_QUICK  if set, only the package's own tests run
#
# Everything is installed into DIR (default target/node-check), once. Nothing of others is kept in the project.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
work="${1:-$root/target/node-check}"

if ! command -v npm >/dev/null 2>&1 || ! node -e 'process.exit(+process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null; then
  echo "NODE BINDINGS NOT CHECKED: this needs node 20 or newer and npm"
  exit 0
fi
part() { printf -- '-- %s (%ss)\n' "$1" "$SECONDS"; }
mkdir -p "$work"
work="$(cd "$work" && pwd)"

part "addon"
addon="${TREERING_ADDON:-}"
if [ -z "$addon" ]; then
  export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
  (cd "$root/bindings" && cargo build --release --locked --quiet -p treering-node)
  addon="$CARGO_TARGET_DIR/release/libtreering_node.so"
  [ -f "$addon" ] || addon="${addon%.so}.dylib"
fi
command="${TREERING_BIN:-$root/target/release/treering}"

part "tools"
# install DIR PACKAGE...: installs exactly these packages, once.
install() {
  local dir="$1"; shift
  [ -f "$dir/installed" ] && [ "$(cat "$dir/installed")" = "$*" ] && return
  rm -rf "$dir"; mkdir -p "$dir"
  echo '{"private":true,"type":"module"}' > "$dir/package.json"
  (cd "$dir" && npm install --no-audit --no-fund --loglevel=error --ignore-scripts --save-exact "$@" >/dev/null)
  echo "$*" > "$dir/installed"
}
install "$work/tools" typescript@6.0.3 @types/node@20.19.25 publint@0.3.25 @arethetypeswrong/cli@0.18.5 || {
  echo "NODE BINDINGS NOT CHECKED: the tools could not be installed"
  exit 0
}
tools="$work/tools/node_modules"
# The package `bun` downloads its program in a script; the program is a package of its own as well.
install "$work/bun" @oven/bun-linux-x64@1.4.4 2>/dev/null || true
bun="$work/bun/node_modules/@oven/bun-linux-x64/bin/bun"

part "package"
node "$here/scripts/build.mjs" "$work/package" "$work/tools" "$addon" "$command"
tarball="$work/$(cd "$work/package" && npm pack --silent --pack-destination "$work")"

part "installed from its tarball into an empty directory"
app="$work/app"
rm -rf "$app/test" "$app/examples" "$app/node_modules/treering"
install "$app" fast-check@4.10.2 ai@7.0.170
(cd "$app" && npm install --no-audit --no-fund --loglevel=error --no-save --no-package-lock "$tarball" >/dev/null)
cp -r "$here/test" "$here/examples" "$here/bench.mjs" "$app/"
node "$tools/typescript/bin/tsc" -p "$app/examples" --typeRoots "$tools/@types"

part "tests, node $(node --version)"
(cd "$app" && node --expose-gc --test --test-reporter=spec test/*.test.mjs)
if [ -x "$bun" ] && "$bun" --version >/dev/null 2>&1; then
  part "tests, bun $("$bun" --version)"
  if (cd "$app" && "$bun" test --timeout 120000 ./test/*.test.mjs) > "$work/bun.log" 2>&1; then
    tail -4 "$work/bun.log"
  else
    tail -100 "$work/bun.log"
    exit 1
  fi
else
  echo "SKIPPED: there is no bun for this machine"
fi
[ -z "${NODE_CHECK_QUICK:-}" ] || exit 0

part "types: tsc --strict, publint, attw"
for project in tsconfig tsconfig-ai; do
  node "$tools/typescript/bin/tsc" -p "$app/test/$project.json" --typeRoots "$tools/@types"
done
node "$tools/publint/src/cli.js" "$work/package" --strict
node "$tools/@arethetypeswrong/cli/dist/index.js" "$tarball" --profile node16

part "the command"
version="$(cd "$app" && npx --no-install treering --version)"
[ "$version" = "$("$command" --version)" ] || { echo "npx treering says $version"; exit 1; }

part "the published session managers of pi and oh-my-pi, the same calls on both"
conformance="$root/target/conformance"
mkdir -p "$conformance"
if node "$root/conformance/install.mjs" "$conformance" 2>/dev/null; then
  for compatibility in treering pi-1; do
    (cd "$app" && node test/compat/differential.mjs "$conformance/pi-1.5.2/dist/core/session-manager.js" "$compatibility")
  done
else
  echo "SKIPPED: pi 1.5.2 could not be installed"
fi
if [ -x "$bun" ] && [ -d "$conformance/omp/node_modules/@oh-my-pi" ]; then
  (cd "$app" && HOME="$work" "$bun" test/compat/omp.mjs "$conformance/omp")
else
  echo "SKIPPED: oh-my-pi could not be installed"
fi
if install "$work/pi" @mariozechner/pi-coding-agent@0.73.1; then
  pi="$work/pi/node_modules/@mariozechner/pi-coding-agent"
  (cd "$app" && node test/compat/differential.mjs "$pi/dist/core/session-manager.js" pi-0)
  part "the published pi runs on it"
  (cd "$app" && node test/pi-host/run.mjs "$pi")
else
  echo "SKIPPED: pi 0.73.1 could not be installed"
fi

part "done"
