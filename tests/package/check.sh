#!/usr/bin/env bash
# Installs a build into a fresh prefix and builds and runs the examples against it:
#   check.sh CMAKE BUILD_DIR SCRATCH_DIR
# Where the build has CUDA but the machine has no GPU, the example says so and answers on the CPU.
set -euo pipefail
cmake=$1 build=$2 scratch=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$scratch"
"$cmake" --install "$build" --prefix "$scratch/prefix" >/dev/null
"$cmake" -S "$here/examples/select" -B "$scratch/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$scratch/build"
"$scratch/build/select_example" | tee "$scratch/answer"
[ "$("$scratch/build/nearest_example" | paste -sd,)" = "1 (0.1),3 (0.4),0 (0.2),2 (0.3)" ]
# Four rows of five, ascending, and nothing of the source tree in what was installed.
[ "$(grep -c '^cpu row' "$scratch/answer")" -eq 4 ]
if grep -rl -- "$here" "$scratch/prefix" --include='*.cmake'; then
  echo "the installed package names the source tree" >&2
  exit 1
fi
