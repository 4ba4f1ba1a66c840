#!/usr/bin/env bash
# kselect::auto_select as README presents it: builds and installs the library with `auto` alone, takes the program and
# its CMakeLists.txt out of README, builds them outside the tree and runs the program.
#   auto.sh CMAKE SCRATCH_DIR
# Also holds the promises about it: the program's size, the time to build, no absolute path in the package, and
# right answers on each of this machine's vector units.
set -euo pipefail
cmake=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() {
  echo "$1" >&2
  exit 1
}
rm -rf "$scratch"
mkdir -p "$scratch/nearest"

"$cmake" -S "$here" -B "$scratch/library" -G Ninja -DCMAKE_BUILD_TYPE=Release -DKSELECT_AUTO_ALONE=ON \
  -DKSELECT_CUDA=OFF >/dev/null
export CCACHE_DISABLE=1  # the time is the compiler's
source "$here/scripts/stages.sh"
before=$(yardstick)
TIMEFORMAT=%U
{ time "$cmake" --build "$scratch/library" >&2; } 2> >(tee "$scratch/time" >&2)
wait
seconds=$(tail -1 "$scratch/time")
# It takes 23 yardsticks. The slower of two counts, because other tests begin and end beside it.
unit=$(printf '%s\n' "$before" "$(yardstick)" | sort -n | tail -1)
awk -v s="$seconds" -v unit="$unit" 'BEGIN { exit !(s < 40 * unit) }' ||
  fail "kselect::auto_select took $seconds s of a core to build, more than 40 times the $unit s of a yardstick"
"$cmake" --install "$scratch/library" --prefix "$scratch/prefix" >/dev/null
[ -s "$scratch/prefix/share/doc/kselect/LICENSE" ] || fail "the licence is not installed"
if grep -rnE '(^|[";=( ])/[A-Za-z0-9_]' "$scratch/prefix" --include='*.cmake'; then
  fail "the installed package names an absolute path"
fi

# block LANGUAGE: the first block of that language below "As a library".
block() {
  awk -v fence="^\`\`\`$1\$" '/^## As a library/ { here = 1 } here && /^```/ && inside { exit }
    inside { print } here && $0 ~ fence { inside = 1 }' "$here/README.md"
}
block cpp >"$scratch/nearest/nearest.cpp"
block cmake >"$scratch/nearest/CMakeLists.txt"
lines=$(grep -c . "$scratch/nearest/nearest.cpp")
[ "$lines" -ge 5 ] && [ "$lines" -le 15 ] || fail "README's program has $lines lines, not 5 to 15"
"$cmake" -S "$scratch/nearest" -B "$scratch/nearest/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXE_LINKER_FLAGS="-static-libstdc++ -static-libgcc -s" >/dev/null
"$cmake" --build "$scratch/nearest/build"
"$scratch/nearest/build/nearest" | tee "$scratch/answer"
[ "$(sort "$scratch/answer" | paste -sd,)" = \
  "row 0: 0.1 at 1,row 0: 0.4 at 3,row 1: 0.2 at 0,row 1: 0.3 at 2" ] || fail "that answer is wrong"
bytes=$(stat -c %s "$scratch/nearest/build/nearest")
[ "$bytes" -lt 5000000 ] || fail "README's program has $bytes bytes; 5,000,000 are promised"
echo "README's program: $bytes bytes; the library took $seconds s of a core"

"$here/tests/package/knn.sh" "$cmake" "$scratch/prefix" "$scratch/knn"
"$cmake" -S "$here/tests/package/auto" -B "$scratch/auto" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$scratch/auto"
"$scratch/auto/targets"
