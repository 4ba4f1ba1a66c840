#!/usr/bin/env bash
# Draws every figure and table of the three papers from the committed records and writes REPRODUCTION.md.
# It needs no GPU and builds nothing.
# Usage: scripts/reproduce.sh [--list | --check] [--from DIR] [--out DIR] [ID...]
#        scripts/reproduce.sh --run [--plan] [--paper KEYS] [--into DIR] [--gpus G] [--program FILE] [ID...]
#   ID              only these experiments, such as K-fig4; --out is then out/reproduction
#   --list          lists the experiments and their records, and stops
#   --check         writes nothing; fails where the committed files differ
#   --from DIR      a run, a machine's folder or a tree of them (results)
#   --out DIR       where REPRODUCTION.md and reproduction/ go (the tree; with --from out/reproduction)
#   --run           first runs every experiment that has no record from this machine. It says before how long each and
#                   all will take. An interrupted run goes on where it stopped.
#   --plan          with --run: says what would run and how long, and stops
#   --paper KEYS    with --run: only the experiments of these papers, such as K,T,B
#   --into DIR      with --run: where the records go (results/MACHINE); --machine NAME means results/NAME
#   --gpus G        with --run: G sweeps at a time, each with its GPU and its share of the cores
#   --program FILE  with --run: this program. Without it scripts/build.sh builds one first, also for --plan.
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
