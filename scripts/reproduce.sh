#!/usr/bin/env bash
# Draws every figure and table of the three papers from the committed records and writes REPRODUCTION.md.
# It needs no GPU and builds nothing. With `--run` it first builds the program and runs the sweeps that have
# no record from this machine; before each it prints the expected time. `--help` lists the options.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

run=
for option in "$@"; do
  [ "$option" != --run ] || run=yes
done
if [ -n "$run" ]; then
  scripts/build.sh
  export PATH="$root/.venv/bin:$PATH"
elif .venv/bin/python -c '
import sys, importlib.metadata as installed
pinned = [line.strip().split("==") for line in open("plots/requirements.txt") if "==" in line]
sys.exit(any(installed.version(name) != version for name, version in pinned))' 2>/dev/null; then
  export PATH="$root/.venv/bin:$PATH"  # an environment made by the demo or the tests suffices
else
  need python
  python_environment plots/requirements.txt
fi
exec python -m plots.reproduce "$@"
