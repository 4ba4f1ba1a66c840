#!/usr/bin/env bash
# Checks that the tests find planted faults. Applies each patch of tests/planted/patches to this tree, rebuilds
# the folders of `scripts/test.sh --all` (run that first), and runs the test that the patch names. The short
# tier's build is tried first; if its test passes, the sanitizer build is tried. `Test: cmake` faults must break
# the CUDA build. A fault marked `Tier: short` must be found by the short tier.
# Usage: scripts/planted_faults.sh [NAME...]
# Prints a table and exits 1 if a fault was missed. The tree must be clean; each patch is reverted.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
export PATH="$root/.venv/bin:$PATH"
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "commit or stash your changes first: faults are planted in this tree" >&2
  exit 2
fi
mkdir -p out/planted
planted=
trap '[ -z "$planted" ] || git apply -R "$planted"' EXIT

# found TEST BUILD: succeeds if the test fails in that build; for `gpu`, if compiling fails.
found() {
  local BUILD=build/test-$2 log=out/planted/$name-$2.log
  : >"$log"
  case $2 in
  gpu) # compiling one object shows the fault
    ! cmake --build "$BUILD" --target CMakeFiles/kselect_algorithms.dir/algorithms/heap_reduction/heap_reduction.cu.o >>"$log" 2>&1
    return
    ;;
  esac
  case $1 in
  *^tests*) cmake --build "$BUILD" --target kselect_tests >>"$log" 2>&1 ;;
  *^battery*) cmake --build "$BUILD" --target kselect_battery >>"$log" 2>&1 ;;
  *python.cli*) cmake --build "$BUILD" --target kselect >>"$log" 2>&1 ;;
  esac || {
    echo "does not compile: $log" >&2
    exit 2
  }
  # The short tier runs a random sample of the battery. Three samples make a miss by chance unlikely.
  local sample samples=('')
  if [[ $2 == cpu && $1 == *^battery* ]]; then samples=(sample:1 sample:2 sample:3); fi
  for sample in "${samples[@]}"; do
    if ! (export KSELECT_BATTERY=$sample && eval "$1 -j 2 --no-tests=error") >>"$log" 2>&1; then return 0; fi
  done
  return 1
}

table=() missed=0
for patch in tests/planted/patches/*.patch; do
  name=$(basename "$patch" .patch)
  if [ $# -ne 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  what=$(sed -n '1s/^# //p' "$patch") tier=$(sed -n 's/^# Tier: //p' "$patch") test=$(sed -n 's/^# Test: //p' "$patch")
  git apply "$patch"
  planted=$patch
  short=no all=yes
  if [[ $test == cmake* ]]; then
    found "$test" gpu || all=no
  else
    if found "$test" cpu; then short=yes; fi
    if [ $short = no ]; then found "$test" cpu-asan-ubsan || all=no; fi
  fi
  git apply -R "$patch"
  planted=
  if [ $all = no ] || { [ "$tier" = short ] && [ $short = no ]; }; then missed=1; fi
  table+=("| \`$name\` | $what | $short | $all |")
  echo "${table[-1]}"
done
echo
printf '%s\n' '| fault | what it does | short tier | --all |' '|---|---|---|---|' "${table[@]}"
exit $missed
