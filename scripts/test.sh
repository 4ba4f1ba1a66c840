#!/usr/bin/env bash
# All tests from nothing: installs what is missing, builds, and runs the whole suite - with
# optimisation, under AddressSanitizer and UBSan, and the CUDA build wherever nvcc is found.
# Ends in CTest's own closing lines. Options are passed on to ctest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_missing "${apt_packages[@]}" libgtest-dev libgmock-dev clang libclang-rt-14-dev \
  libbenchmark-dev libbenchmark-tools libopenmpi-dev openmpi-bin procps
python_environment scripts/requirements.txt plots/requirements.txt tests/requirements.txt
# A distribution without this package, or one with another Chromium, is served as well.
if ! command -v chromium-headless-shell chromium google-chrome chrome >/dev/null; then
  (install_missing chromium-headless-shell) ||
    say "no Chromium: tests of the HTML report in a browser are skipped"
fi

say "fuzzing the config parser"
cmake -S tests/fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build build/fuzz
ctest --test-dir build/fuzz --output-on-failure --no-tests=error

# The last preset also compiles every kernel for the GPU where there is an nvcc.
main=cpu
if command -v nvcc >/dev/null; then
  main=gpu
else
  say "no nvcc found: the CUDA build is skipped; kernels are tested on the fiber executor"
fi
test_preset() { # PRESET CTEST_OPTION...
  local preset=$1
  shift
  say "building (preset $preset)"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  say "testing (preset $preset)"
  ctest --preset "$preset" "$@"
}
# Without CUDA nothing runs on a GPU; and blocks of hundreds of fibers take a minute a test under the
# sanitizers, for what blocks of dozens show.
test_preset cpu-asan-ubsan \
  --exclude-regex '_on_cuda$|/Battery\.ExhaustiveSmallWorlds/.*_t(256|512)_on_fiber' "$@"
# The longest of the battery's tests on fibers, which the sanitizers have just seen, are not repeated.
test_preset "$main" --exclude-regex '/Battery\.(BoundarySizes|EveryDistribution)/.*_on_fiber' "$@"
