#!/usr/bin/env bash
# Which compilers take the sources: compiles every file with each and writes what came of it into
# docs/toolchains.md, a line a row. `scripts/toolchains.sh [ROW...]`, all rows without one:
#
#   gcc-12 gcc-13 gcc-14 clang-16       all host code, and .cu as C++, a folder at a time, to the end of
#                                       what the language forbids and warns of; the seam's tests are run
#   cuda-12.4 cuda-12.6 ... cuda-13.0   every .cu to PTX and through the host compiler; two whole, with SASS
#   x86-64                              the program for processors without AVX, run on one that QEMU plays
#
# A compiler of this machine is taken, else that of a Debian made by debootstrap (root alone) in the folder
# KSELECT_CHROOTS; what can be had neither way is skipped, and said. JOBS is how many run at once.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
chroots=${KSELECT_CHROOTS:-/var/tmp/kselect-toolchains}
jobs=${JOBS:-2}
document=docs/toolchains.md
rows=(gcc-12 gcc-13 gcc-14 clang-16 cuda-12.4 cuda-12.6 cuda-12.8 cuda-13.0 x86-64)

# --- where a row runs ---------------------------------------------------------------------------------------

# here, or debian SUITE PACKAGE...: sets `in` to what comes before a command, and `sources` and `builds` to the
# folders' names there.
here() {
  # The project's own CMake: Debian's does not know this toolkit's C++20.
  [ -x .venv/bin/cmake ] || python_environment scripts/requirements.txt
  in=(env "PATH=$root/.venv/bin:$PATH") sources=$root builds=$root/build/toolchains
}

debian() {
  local suite=$1 folder=$chroots/$1
  [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || return 1
  if [ ! -e "$folder/made" ]; then
    say "making a Debian $suite in $folder"
    debootstrap --variant=minbase "$suite" "$folder" >/dev/null
    sed -i 's/ main$/ main contrib non-free/' "$folder/etc/apt/sources.list"
    mkdir -p "$folder/src" "$folder/b"
    touch "$folder/made"
  fi
  mountpoint -q "$folder/src" || mount --bind -o ro "$root" "$folder/src"
  in=(chroot "$folder" env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
  sources=/src builds=/b
  "${in[@]}" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh \
    cmake g++ git ninja-build pkg-config python3-venv libfmt-dev nlohmann-json3-dev libcli11-dev zlib1g-dev \
    libxxhash-dev librandom123-dev libopenblas-dev libhdf5-dev libboost-context-dev libhwy-dev libgtest-dev \
    libgmock-dev libbenchmark-dev libopenmpi-dev "${@:2}" >/dev/null 2>&1
}

# place_for COMMAND SUITE PACKAGE...: this machine if it has the command, else that Debian with its package.
place_for() {
  if command -v "$1" >/dev/null; then here; else debian "${@:2}"; fi
}

# --- rows ---------------------------------------------------------------------------------------------------

host_row() { # ROW COMMAND SUITE PACKAGE...
  place_for "${@:2}" || { skip "$1" "no $2 here; Debian $3 has it, but needs root and debootstrap"; return; }
  local build=$builds/$1 result ran
  configure "$build" -DKSELECT_CUDA=OFF "-DCMAKE_CXX_COMPILER=$2" || { record "$1" "$2" "not configured"; return; }
  result=$(compile_all "$build" -fsyntax-only)
  if run_seam_tests "$2" "$build"; then ran="the seam's tests pass"; else ran="the seam's tests FAIL"; fi
  record "$1" "$2" "$result; $ran"
}

cuda_row() { # ROW VERSION
  local host=g++ build result
  if nvcc --version 2>/dev/null | grep -q "release $2,"; then
    here
  elif [ "$2" = 12.4 ]; then
    debian trixie g++-13 nvidia-cuda-toolkit || { skip "$1" "Debian trixie has it, but needs root and debootstrap"; return; }
    host=g++-13
  else
    skip "$1" "no nvcc $2 here, in Debian or on PyPI (nvidia-cuda-nvcc-cu12 holds ptxas and libnvvm alone)"
    return
  fi
  build=$builds/$1
  configure "$build" -DKSELECT_CUDA=ON -DKSELECT_TESTS=OFF "-DCMAKE_CXX_COMPILER=$host" \
    "-DCMAKE_CUDA_HOST_COMPILER=$host" || { record "$1" nvcc "not configured"; return; }
  # What optimises is spared: the front ends and the code generator see all of it.
  result=$(compile_all "$build" --language cu -c -arch=compute_80 -code=compute_80 -Xcicc -O0 \
    -Xcompiler -fsyntax-only)
  if "${in[@]}" cmake --build "$build" -j "$jobs" -- \
    CMakeFiles/kselect_algorithms.dir/{algorithms/queues/insertion_queue,baselines/gpu_full_sort}.cu.o >&2; then
    result+="; two whole"
  else
    result+="; whole ones FAIL"
  fi
  record "$1" nvcc "$result"
}

# The program for the oldest 64-bit processors sweeps on one that has neither AVX nor AVX2, as QEMU plays it.
old_processor_row() { # ROW
  here
  local build=$builds/$1 qemu=(qemu-x86_64 -cpu Nehalem) result="built; " out
  command -v qemu-x86_64 >/dev/null || { skip "$1" "no qemu-x86_64 (Debian, Ubuntu: qemu-user)"; return; }
  configure "$build" -DKSELECT_CUDA=OFF -DKSELECT_TESTS=OFF -DKSELECT_MARCH=x86-64 &&
    "${in[@]}" cmake --build "$build" -j "$jobs" --target kselect >&2 || { record "$1" c++ "not built"; return; }
  out=$(mktemp -d)
  if "${qemu[@]}" "$build/kselect" run configs/smoke.json --out "$out/run" >&2; then
    result+="configs/smoke.json runs under ${qemu[*]}"
  else
    result+="configs/smoke.json FAILS under ${qemu[*]}"
  fi
  rm -rf "$out"
  record "$1" c++ "$result"
}

configure() { # BUILD OPTION...
  say "configuring $1" >&2
  # A precompiled header would have to be made first.
  "${in[@]}" cmake -S "$sources" -B "$1" -G Ninja -DKSELECT_UNITY=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    "${@:2}" >&2 &&
    "${in[@]}" cmake --build "$1" --target kselect_build_info generated/source_hashes.hpp >&2
}

# compile_all BUILD OPTION...: prints how many files compiled; what the compiler says goes to BUILD/refused.
compile_all() {
  "${in[@]}" python3 "$sources/scripts/toolchains/compile_all.py" "$1" --jobs "$jobs" --log "$1/refused" \
    "${@:2}" || say "see $1/refused" >&2
}

# GoogleTest is compiled with them: a library that another compiler made may need that one's own.
run_seam_tests() { # COMPILER BUILD
  "${in[@]}" bash -c 'cd "$1" && test=/usr/src/googletest/googletest &&
    "$2" -std=c++20 -O0 -DKSELECT_HAS_CUDA=0 -I. -Iinclude -I"$test" tests/simt/fiber_*_test.cpp src/simt/*.cpp \
      "$test"/src/gtest-all.cc "$test"/src/gtest_main.cc -o "$3/seam_tests" -lboost_context -pthread &&
    "$3/seam_tests" --gtest_brief=1' bash "$sources" "$1" "$2" >&2
}

# --- the record ---------------------------------------------------------------------------------------------

skip() { # ROW REASON
  say "$1: skipped: $2"
  write_row "$1" "-" "-" "-" "skipped: $2"
}

record() { # ROW COMPILER RESULT
  local compiler system libraries
  compiler="$2 $("${in[@]}" "$2" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | tail -1)"
  system=$("${in[@]}" sh -c '. /etc/os-release && echo "$NAME $VERSION_ID"')
  libraries=$("${in[@]}" sh -c 'for name in fmt nlohmann_json CLI11 libhwy gtest; do
      printf "%s %s, " "$name" "$(pkg-config --modversion "$name" 2>/dev/null || echo "?")"
    done
    sed -n "s/#define BOOST_LIB_VERSION \"\(.*\)\"/Boost \1/p" /usr/include/boost/version.hpp')
  say "$1: $3"
  write_row "$1" "$compiler" "$system" "$libraries" "$3"
}

write_row() { # ROW CELL...
  local line="| $1"
  for cell in "${@:2}"; do line+=" | $cell"; done
  line+=" | $(date +%F) |"
  awk -v row="| $1 |" -v line="$line" '
    index($0, row) == 1 { print line; done = 1; next }
    /^<!-- rows end -->/ && !done { print line }
    { print }' "$document" >"$document.new"
  mv "$document.new" "$document"
}

main() {
  [ $# -ne 0 ] || set -- "${rows[@]}"
  local row
  for row in "$@"; do
    case $row in
      gcc-12) host_row "$row" g++-12 bookworm g++-12 ;;
      gcc-1[34]) host_row "$row" "g++-${row#gcc-}" trixie "g++-${row#gcc-}" ;;
      clang-16) host_row "$row" clang++-16 bookworm clang-16 libomp-16-dev libclang-rt-16-dev ;;
      x86-64) old_processor_row "$row" ;;
      cuda-*) cuda_row "$row" "${row#cuda-}" ;;
      *)
        echo "no row '$row'; the rows are: ${rows[*]}, and cuda-VERSION" >&2
        exit 2
        ;;
    esac
  done
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
