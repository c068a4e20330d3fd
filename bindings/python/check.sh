#!/bin/sh
# Builds the wheel and checks it: in a clean virtual environment, with the package's own tests, type checkers, the
# examples of the README, and the tests of the packages whose APIs it offers.
#   bindings/python/check.sh [CACHE_DIR]
# CACHE_DIR holds environments and downloads between runs (default: target/python-check).
# TREERING_BIN and TREERING_MODEL name programs that are built already (default: they are built).
# TREERING_WHEEL names a wheel that is built already.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
cache=${1:-$root/target/python-check}

# Without Python there is nothing to check: fatal in CI, a loud skip elsewhere.
skip() {
  echo "PYTHON PACKAGE NOT CHECKED: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 0
}
say() { printf -- '-- %s\n' "$1"; }

command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "Python 3.10 or later is needed for the checks"
python3 -c 'import venv, ensurepip' 2>/dev/null || skip "Python's venv is not installed"
mkdir -p "$cache"
cache=$(CDPATH= cd -- "$cache" && pwd)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}" PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

say "programs of the library"
if [ -z "${TREERING_BIN:-}" ] || [ -z "${TREERING_MODEL:-}" ]; then
  (cd "$root" && cargo build --release --locked --quiet -p treering-cli -p treering-testkit)
fi
TREERING_BIN=${TREERING_BIN:-$CARGO_TARGET_DIR/release/treering}
TREERING_MODEL=${TREERING_MODEL:-$CARGO_TARGET_DIR/release/treering-model}
export TREERING_BIN TREERING_MODEL

say "wheel"
wheels=$cache/wheels
if [ -z "${TREERING_WHEEL:-}" ]; then
  [ -x "$cache/build/bin/python" ] || python3 -m venv "$cache/build"
  # Not by the script `pip`, which names its environment by a path: in a copy of the cache that is another one.
  "$cache/build/bin/python" -m pip install --quiet maturin==1.16.0 || skip "maturin could not be installed"
  rm -rf "$wheels"
  PATH=$cache/build/bin:$PATH "$cache/build/bin/python" -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir "$wheels" "$here"
  TREERING_WHEEL=$(ls "$wheels"/treering-*.whl)
fi
ls -l "$TREERING_WHEEL"

say "clean environment"
environment=$cache/environment
rm -rf "$environment"
python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet "$TREERING_WHEEL" -r "$here/requirements-check.txt" || skip "the packages could not be installed"
PATH=$environment/bin:$PATH
export PATH
treering --version

# Away from the sources: what is tested is what was installed.
work=$cache/work
rm -rf "$work"
mkdir -p "$work"
cp -r "$here/tests" "$here/examples" "$here/README.md" "$here/pyproject.toml" "$work/"
cd "$work"

say "tests"
python -m pytest

say "examples of the README and of the modules"
python -m pytest --doctest-glob='*.md' README.md
python - <<'PY'
import doctest, importlib, sys
import treering
failed = attempted = 0
for name in ("session", "messages", "typed", "aio", "chimera", "tau", "openai_agents", "langgraph"):
    module = importlib.import_module(f"treering.{name}")
    result = doctest.testmod(module, extraglobs={"treering": treering})
    failed, attempted = failed + result.failed, attempted + result.attempted
print(f"{attempted} examples in docstrings, {failed} failed")
sys.exit(1 if failed else 0)
PY

say "mypy --strict"
python -m mypy --strict -p treering
python -m mypy --strict tests examples

say "pyright"
if command -v npm >/dev/null 2>&1; then
  [ -d "$cache/npm/node_modules/pyright" ] || npm install --silent --no-audit --no-fund --prefix "$cache/npm" pyright@1.1.414 >/dev/null
  package=$(python -c 'import os, treering; print(os.path.dirname(treering.__file__))')
  cp -r "$package" "$work/installed"
  "$cache/npm/node_modules/.bin/pyright" --pythonpath "$environment/bin/python" tests examples installed
else
  skip "npm is not installed, which pyright needs"
fi

say "tests of other packages"
python "$here/peers.py" "$cache/peers"
