#!/usr/bin/env bash
# The main job from nothing: installs what is missing, builds, runs a verified sweep and draws it.
# Works with and without a GPU; quick the second time. Options are passed on to `kselect run`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_missing "${apt_packages[@]}"
python_environment scripts/requirements.txt plots/requirements.txt

preset=cpu
if command -v nvcc >/dev/null; then preset=gpu; fi
say "building (preset $preset)"
cmake --preset "$preset" -DKSELECT_TESTS=OFF -B "build/demo" >/dev/null
cmake --build build/demo --target kselect

out=out/demo
say "running configs/quick.json"
build/demo/kselect doctor || true
build/demo/kselect run configs/quick.json --out "$out" --resume "$@"

say "drawing"
python -m plots "$out" --out "$out/figures"
python -m plots.report "$out"
say "figures: $out/figures"
ls "$out"/figures/*.png
