#!/usr/bin/env bash
# Installs missing packages, builds, runs the tests, and prints the time of each stage.
# Usage: scripts/test.sh [--all] [CTEST_OPTION...]
#
#   (nothing)  the short tier, which finds most faults in minutes: one build without CUDA, at -O1; all unit
#              tests; a random sample of the shared battery, one entry for each family and test (the printed
#              KSELECT_BATTERY=sample:SEED repeats it); the program's tests except slow ones; plots; configs;
#              the tree.
#   --all      adds the whole battery, the slow tests, fuzzing, the documents' site, the Python package as a
#              wheel, and the CUDA build if nvcc is found. It also runs the unit tests, the program's tests and a
#              fourth of the battery under AddressSanitizer and UBSan. CI runs this.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
source scripts/stages.sh

all=
if [ "${1:-}" = --all ]; then
  all=yes
  shift
fi

# Tests have their own build folders: these always compile everything, so unity builds pay (docs/decisions).
build_preset() { # PRESET CMAKE_OPTION... -- TARGET...
  local preset=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  local build=build/test-$preset
  mkdir -p "$build"
  : >"$build/object_times.txt"
  cmake --preset "$preset" -B "$build" -DKSELECT_UNITY=ON -DKSELECT_OBJECT_TIMES=ON "${options[@]}" >/dev/null
  cmake --build "$build" ${1:+--target "$@"}
  say_slowest "$build"
  limit_objects 60 "$build"
}
# A CTest test is a share of a GoogleTest program (tests/CMakeLists.txt); GTEST_FILTER selects cases within it.
test_preset() { # PRESET GTEST_FILTER CTEST_OPTION...
  GTEST_FILTER=$2 ctest --test-dir "build/test-$1" --output-on-failure --no-tests=error -j 2 "${@:3}"
}

# Under the sanitizers, blocks of hundreds of fibers are very slow and find nothing that small blocks miss.
many_fibers=$(printf '*Battery.ExhaustiveSmallWorlds/*_t%s_on_fiber:' 256 512 1024)
# Nor do these there: other tests run the same code on less data (graphs whose lists run over, searches in tiles with
# ties, smaller worlds), and the rest walk over billions of elements or cells, open no memory, or read damaged HDF5
# files, as the fuzzing stage does.
much_data=$(printf '*Battery.ManyShortRows/*_t%s_on_fiber:' 256 512 1024)
much_data+=fused_half.finds_the_graph:fused_half.finds_the_graph_of_directions:fused_half.finds_the_graph_of_long_*
much_data+=:fused_half.shares_of_the_pairs_*:fused_search.takes_the_corpus_as_its_queries:Of/ProductMemory.IsAsPromised/0
much_data+=:Of/ProductMemory.IsAsPromised/1:ProductMemory.HoldsOneListOfAGraph
much_data+=:ProductShard.LeavesQueriesOutOfTheirOwnGraph:*certificate_world.accepts_exactly_*/five_long_*
much_data+=:certificate.counts_in_rows_longer_*:count_left.counts_a_milliard_*:TestDevice.FibersRunNoInstance*
much_data+=:Of/HostSearch.IsThatOfABruteForceAsAGraph/*:DamagedFiles.Hdf5:fused_half.ends_right_*
much_data+=:fused_*.answers_with_outliers_*:FusedKnown.EqualDistances*:ProductShard.DealtPairs*
much_data+=:FusedPartial.OfTwoPasses:FusedPartial.EqualDistances*:ProductShard.ShortListsOfASortedCorpus*

stage "set-up"
need build test ${all:+all}
python_environment scripts/requirements.txt plots/requirements.txt tests/requirements.txt

# Little optimised: kernels compile in half the time, and fibers take most of their time to switch. The switches
# themselves are always optimised. Slow tests build the library as users do (tests/package).
stage "build (preset cpu)"
build_preset cpu "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" -DKSELECT_PYTHON_PACKAGE=ON --

# With --all the whole battery comes later, and needs no sample of it before.
seed=${KSELECT_BATTERY:-sample:$RANDOM}
if [ -n "$all" ]; then
  later='^(slow|battery)$' said="without the battery"
else
  later='^slow$' said="battery: KSELECT_BATTERY=$seed"
fi
stage "tests (preset cpu; $said)"
KSELECT_BATTERY=$seed test_preset cpu "-$many_fibers" --label-exclude "$later" "$@"
limit_seconds 900 "the short tier"

if [ -z "$all" ]; then
  say_stages
  exit
fi

stage "the documents' site"
scripts/docs.sh

stage "the wheel, in a fresh environment"
scripts/wheel.sh --reuse build/test-cpu

stage "fuzzing the readers"
cmake -S tests/fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build build/fuzz
ctest --test-dir build/fuzz --output-on-failure --no-tests=error -j 2

stage "build (preset cpu-asan-ubsan)"
build_preset cpu-asan-ubsan --

# Each entry in each case of the battery, but with every fourth of its problems: fibers under the sanitizers take ten
# times as long. The next stage has all problems.
stage "tests (preset cpu-asan-ubsan; battery: KSELECT_BATTERY=every:4)"
KSELECT_BATTERY=every:4 test_preset cpu-asan-ubsan "-$many_fibers$much_data" "$@"

stage "the whole battery and slow tests (preset cpu)"
test_preset cpu '*' --label-regex '^(battery|slow)$' "$@"

# All CUDA sources, for one architecture only: a second one would double the time. No GPU runs them here, so host code
# is not optimised.
if command -v nvcc >/dev/null; then
  stage "build (preset gpu, compute capability 9.0)"
  build_preset gpu -DCMAKE_CUDA_ARCHITECTURES=90 -DKSELECT_COMPILE_ONLY=ON -- kselect kselect_battery kselect_gpu_tests kselect_planted
  stage "tests (preset gpu)"
  test_preset gpu '*' --label-regex '^(codegen|gpu_tests)$' "$@"
else
  say "no nvcc found: the CUDA build is skipped; kernels are tested on the fiber executor"
fi

say_stages
