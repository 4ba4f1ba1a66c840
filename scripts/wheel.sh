#!/usr/bin/env bash
# Builds a wheel of the Python package as build/wheel/*.whl, checks it, installs it in a fresh virtual environment and
# runs its tests there.
# Usage: scripts/wheel.sh [--reuse BUILD]
#
#   (nothing)      compiles the program and the modules in build/wheel/cmake, for any machine of this kind. With nvcc
#                  they have GPU code for the architectures in KSELECT_CUDA_ARCHITECTURES (90 by default; "80;90;100;120"
#                  for all that are usual). By PTX newer GPUs run `auto`, k-NN and the harness, not the
#                  other entries, whose PTX would make the wheel too large. KSELECT_CUDA=OFF leaves all out.
#   --reuse BUILD  takes what is compiled in this folder, which was configured with -DKSELECT_PYTHON_PACKAGE=ON. Such
#                  a wheel tests the packaging. It runs on machines like this one only, if the folder is for those.
#
# KSELECT_WHEEL_PYTHON names the Python of the fresh environment (python3).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

reuse=
case ${1:-} in
  '') ;;
  --reuse) reuse=${2:?--reuse needs the build folder} ;;
  *) echo "usage: scripts/wheel.sh [--reuse BUILD]" >&2; exit 2 ;;
esac
out=build/wheel
most_bytes=40000000

fail() {
  echo "$1" >&2
  exit 1
}

# Sets `options` so that pip configures the folder as it is configured, and compiles nothing again.
keep_configuration() {
  local name
  options=(-C "build-dir=$reuse")
  for name in KSELECT_MARCH KSELECT_TESTS KSELECT_MPI KSELECT_UNITY KSELECT_CUDA CMAKE_CUDA_ARCHITECTURES \
              KSELECT_LINEINFO KSELECT_PTX KSELECT_COMPRESSED; do
    options+=(-C "cmake.define.$name=$(sed -n "s/^$name:[A-Z]*=//p" "$reuse/CMakeCache.txt")")
  done
}

build_wheel() {
  local options=(-C "build-dir=$out/cmake")
  # GPU code is most of the wheel. Older compilers do not know the option.
  if nvcc --help 2>/dev/null | grep -q -e --compress-mode; then export KSELECT_COMPRESSED=ON; fi
  [ -z "$reuse" ] || keep_configuration
  python -m pip wheel . --no-build-isolation --no-deps --disable-pip-version-check -w "$out/raw" "${options[@]}"
}

# Puts the shared libraries that it needs into the wheel, and says which systems it then runs on. CUDA's libraries are
# the user's own: the driver's, and cuBLAS, which the program uses for k-NN and finds by name.
repair_wheel() {
  auditwheel repair "$out"/raw/*.whl -w "$out" -z 9 --exclude 'libcuda.so*' --exclude 'libcublas*.so*' >"$out/repair.log" 2>&1 ||
    fail "$(cat "$out/repair.log")"
  python scripts/pack_wheel.py "$(echo "$out"/*.whl)"
}

check_wheel() { # WHEEL
  local bytes
  bytes=$(stat -c %s "$1")
  [ "$bytes" -le "$most_bytes" ] || fail "$1 has $bytes bytes; at most $most_bytes are promised"
  [[ $1 == *-cp311-abi3-manylinux* ]] || fail "$1 is not one wheel for every Python from 3.11 on"
  abi3audit --strict --assume-minimum-abi3 3.11 "$1"
  say "$1: $bytes bytes"
}

# In a folder elsewhere, so that nothing of the source tree is imported.
test_wheel() { # WHEEL
  local fresh=$root/$out/fresh
  "${KSELECT_WHEEL_PYTHON:-python3}" -m venv --clear "$fresh"
  "$fresh/bin/python" -m pip install -q --disable-pip-version-check "$1[plots]" \
    $(grep -E '^(pytest|ml_dtypes|mypy|jsonschema)==' tests/requirements.txt)
  mkdir -p "$out/elsewhere"
  (cd "$out/elsewhere" && env -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive \
    "$fresh/bin/python" -m pytest -q -p no:cacheprovider "$root/tests/python")
}

need build wheel
python_environment scripts/requirements.txt plots/requirements.txt tests/requirements.txt scripts/wheel_requirements.txt
rm -rf "$out"/raw "$out"/*.whl
say "building the wheel"
build_wheel
repair_wheel
wheel=$(echo "$out"/*.whl)
check_wheel "$wheel"
say "testing the wheel in a fresh environment"
test_wheel "$root/$wheel"
