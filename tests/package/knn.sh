#!/usr/bin/env bash
# Builds two programs that link an installed kselect::knn, outside the tree, and runs them: examples/knn, and the
# program of docs/guide/library.md as it is printed there.
#   knn.sh CMAKE PREFIX SCRATCH_DIR
set -euo pipefail
cmake=$1 prefix=$2 scratch=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$scratch"
mkdir -p "$scratch/neighbours"

# build SOURCE_DIR BUILD_DIR
build() {
  "$cmake" -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
  "$cmake" --build "$2"
}
# expect PROGRAM LINES: what it prints, its lines joined by commas.
expect() {
  answer=$("$1" | paste -sd,)
  [ "$answer" = "$2" ] || { echo "$1 prints $answer instead of $2" >&2; exit 1; }
}
build "$here/examples/knn" "$scratch/example"
expect "$scratch/example/knn_example" "query 0: point 1 at 0.224,query 0: point 0 at 0.922,\
query 1: point 4 at 0.400,query 1: point 3 at 0.600,point 0: point 1,point 1: point 0,point 2: point 0,\
point 3: point 4,point 4: point 3"

# block LANGUAGE: the first block of that language below "Nearest neighbours".
block() {
  awk -v fence="^\`\`\`$1\$" '/^## Nearest neighbours/ { here = 1 } here && /^```/ && inside { exit }
    inside { print } here && $0 ~ fence { inside = 1 }' "$here/docs/guide/library.md"
}
block cpp >"$scratch/neighbours/neighbours.cpp"
block cmake >"$scratch/neighbours/CMakeLists.txt"
build "$scratch/neighbours" "$scratch/printed"
expect "$scratch/printed/neighbours" "query 0: point 1,query 0: point 0,query 0: point 2,query 1: point 4,\
query 1: point 3,query 1: point 2"
