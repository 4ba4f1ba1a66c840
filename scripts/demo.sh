#!/usr/bin/env bash
# The whole path on a fresh machine: installs missing packages, builds, runs a verified sweep, prints which
# algorithm won and draws the figures. It works with and without a GPU, and a second run is quick.
# Options are passed on to `kselect run`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
source scripts/stages.sh

stage "set-up"
need build
python_environment scripts/requirements.txt plots/requirements.txt

# Without a GPU, code from nvcc could not run.
preset=cpu config=configs/quick.json compared=cpu/nth_element
if command -v nvcc >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
  preset=gpu config=configs/quick_gpu.json compared=radix-select
fi
# Builds only the algorithms that the sweep names.
algorithms=$(python -c '
import json, sys
listed = json.load(open(sys.argv[1]))["algorithms"]
print(";".join(a if isinstance(a, str) else a["name"] for a in listed))' "$config")

stage "build (preset $preset, $algorithms)"
cmake --preset "$preset" -B build/demo -DKSELECT_TESTS=OFF -DKSELECT_UNITY=ON -DKSELECT_WERROR=OFF \
  "-DKSELECT_ALGORITHMS=$algorithms" >/dev/null
cmake --build build/demo --target kselect

stage "run ($config)"
out=out/demo
mkdir -p "$out"
size() { stat -c %s "$out/runs.jsonl" 2>/dev/null || echo 0; }
before=$(size)
build/demo/kselect doctor || true
build/demo/kselect run "$config" --out "$out" --resume "$@" || status=$?
if [ "${status:-0}" -gt 1 ]; then exit "$status"; fi
build/demo/kselect show "$out" >"$out/table.txt"

stage "figures and report"
if [ "$before" != "$(size)" ] || [ ! -e "$out/report.html" ]; then
  python -m plots "$out" --out "$out/figures" >/dev/null
  python -m plots.report "$out" >/dev/null
fi

say_stages
say "the answer"
python -m plots.answer "$out" --baseline "$compared"
say "every cell: $out/table.txt; in a browser: $out/report.html and $out/figures/index.html"
if [ "${status:-0}" -ne 0 ]; then say "some cells failed: $out/table.txt says which"; fi
exit "${status:-0}"
