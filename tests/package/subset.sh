#!/usr/bin/env bash
# Builds the library with some algorithms alone, and a program that asks it what it has:
#   subset.sh CMAKE SCRATCH_DIR
set -euo pipefail
cmake=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$cmake" -S "$here/subset" -B "$scratch" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$scratch" --target subset
"$scratch/subset"
