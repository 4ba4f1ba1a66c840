#!/usr/bin/env bash
# Builds the program with every algorithm as build/release/kselect. If nvcc is found, CUDA code is built for
# the GPUs of this machine. Options are passed on to CMake.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

need build
python_environment scripts/requirements.txt plots/requirements.txt
preset=cpu
if command -v nvcc >/dev/null; then preset=gpu; fi
say "building build/release/kselect (preset $preset)"
# Warnings are errors for developers. Another compiler's warning is no reason to leave a user without a program.
cmake --preset "$preset" -B build/release -DKSELECT_TESTS=OFF -DKSELECT_UNITY=ON -DKSELECT_WERROR=OFF "$@" >/dev/null
cmake --build build/release --target kselect
