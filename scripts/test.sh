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
# Folders of their own: here all is compiled, and folder by folder that takes less time (HACKING.md).
build_preset() { # PRESET
  say "building and testing (preset $1)"
  cmake --preset "$1" -B "build/test-$1" -DKSELECT_UNITY=ON >/dev/null
  cmake --build "build/test-$1"
}
# GoogleTest's cases are shares of one program (tests/CMakeLists.txt), chosen among by GTEST_FILTER.
test_preset() { # PRESET GTEST_FILTER CTEST_OPTION...
  GTEST_FILTER=$2 ctest --test-dir "build/test-$1" --output-on-failure --no-tests=error -j 2 "${@:3}"
}

# Without CUDA nothing runs on a GPU; and blocks of hundreds of fibers take a minute a test under the
# sanitizers, for what blocks of dozens show.
many_fibers=$(printf '*Battery.ExhaustiveSmallWorlds/*_t%s_on_fiber:' 256 512 1024)
build_preset cpu-asan-ubsan
test_preset cpu-asan-ubsan "-*_on_cuda:$many_fibers" "$@"
# What the sanitizers have just seen of the battery's longest tests on fibers is not repeated, only what
# they were spared; and a thousand tests that would each say that there is no GPU are left out at once.
seen=$(printf '*Battery.%s/*_on_fiber:' ExhaustiveSmallWorlds BoundarySizes EveryDistribution ManyShortRows)
if ! nvidia-smi -L >/dev/null 2>&1; then
  say "no GPU found: tests that run on one are left out"
  seen+='*_on_cuda'
fi
build_preset "$main"
test_preset "$main" "$many_fibers" --label-regex tests "$@"
test_preset "$main" "-$seen" "$@"
