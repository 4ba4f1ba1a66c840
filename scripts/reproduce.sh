#!/usr/bin/env bash
# Draws every figure and table of the three papers from the committed records and writes REPRODUCTION.md.
# It needs no GPU and builds nothing. With `--run` it first runs every experiment of the papers that has no record
# from this machine, and says before how long each and all will take; an interrupted run goes on where it stopped.
# The program is built unless `--program FILE` gives it. `--help` lists the options.
#
# Where nothing can be installed or drawn, Python's standard library suffices for the runs:
#   python3 -m plots.reproduce.sweeps --program FILE --into results/MACHINE [--paper K,T,B] [--plan]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

run= program=
for option in "$@"; do
  [ "$option" != --run ] || run=yes
  [[ "$option" != --program* ]] || program=given
done
if [ -n "$run" ] && [ -z "$program" ]; then
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
