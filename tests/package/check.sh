#!/usr/bin/env bash
# Installs a build into a fresh prefix, runs its program, and builds and runs the examples against it:
#   check.sh CMAKE BUILD_DIR SCRATCH_DIR PYTHON
# PYTHON has what plots/requirements.txt names.
# Where the build has CUDA but the machine has no GPU, the example says so and answers on the CPU.
set -euo pipefail
cmake=$1 build=$2 scratch=$3 python=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$scratch"
"$cmake" --install "$build" --prefix "$scratch/prefix" >/dev/null
"$cmake" -S "$here/examples/select" -B "$scratch/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$scratch/build"
"$scratch/build/select_example" | tee "$scratch/answer"
[ "$("$scratch/build/nearest_example" | paste -sd,)" = "1 (0.1),3 (0.4),0 (0.2),2 (0.3)" ]
"$here/tests/package/knn.sh" "$cmake" "$scratch/prefix" "$scratch/knn"
[ "$("$scratch/build/kept_plan_example" | tail -4 | paste -sd,)" = "1 (0.1),3 (0.4),2 (0.2),0 (0.5)" ]
# A plug-in is built from the installed package, listed, proven, and timed and drawn beside `auto`.
bash "$here/tests/package/plugin.sh" "$cmake" "$scratch" "$python"
# The program and what it needs stand where a user looks for them.
installed=$scratch/prefix
"$installed/bin/kselect" --version
(cd "$scratch" && "$installed/bin/kselect" test cpu/sort --case BoundarySizes)
for file in configs/quick.json configs/smoke.json doc/LICENSE doc/README.md doc/guide/library.md \
  doc/reference/exit-codes.md; do
  case $file in
    doc/*) file=$installed/share/doc/kselect/${file#doc/} ;;
    *) file=$installed/share/kselect/$file ;;
  esac
  [ -s "$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
(cd "$scratch" && "$installed/bin/kselect" run "$installed/share/kselect/configs/smoke.json" --out "$scratch/smoke")
# The Python side that runs is the installed one, and it draws and reports what the program recorded.
cat >"$scratch/python" <<'END'
#!/bin/sh
case "$*" in *-c*) ;; *) echo "$PYTHONPATH" >>"$0.path" ;; esac
exec "$KSELECT_REAL_PYTHON" "$@"
END
chmod +x "$scratch/python"
for command in report "plot --out $scratch/drawn" "board --out $scratch/site"; do
  # shellcheck disable=SC2086  # a command and its option
  (cd "$scratch" && PYTHONPATH='' KSELECT_PYTHON=$scratch/python KSELECT_REAL_PYTHON=$python \
    "$installed/bin/kselect" $command smoke)
done
[ -s "$scratch/smoke/report.html" ] && [ -s "$scratch/drawn/index.html" ]
[ -s "$scratch/site/index.html" ] && [ -s "$scratch/site/data/run-000.js" ]
[ "$(sort -u "$scratch/python.path")" = "$installed/share/kselect" ]
# A component has its own files alone, with the licence.
"$cmake" --install "$build" --prefix "$scratch/program" --component program >/dev/null
[ -x "$scratch/program/bin/kselect" ] && [ ! -e "$scratch/program/include" ] && [ ! -e "$scratch/program/lib" ]
"$cmake" --install "$build" --prefix "$scratch/library" --component library >/dev/null
[ -e "$scratch/library/include/kselect/select.hpp" ] && [ ! -e "$scratch/library/bin" ]
[ -s "$scratch/library/share/doc/kselect/LICENSE" ]

# Four rows of five, ascending, and nothing of the source tree in what was installed.
[ "$(grep -c '^cpu row' "$scratch/answer")" -eq 4 ]
if grep -rnE '(^|[";=( ])/[A-Za-z0-9_]' "$scratch/prefix" --include='*.cmake'; then
  echo "the installed package names an absolute path" >&2
  exit 1
fi
# A program links one of the two libraries.
mkdir "$scratch/both"
cat >"$scratch/both/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(both LANGUAGES CXX)
find_package(kselect REQUIRED COMPONENTS auto_select kselect)
add_executable(both both.cpp)
target_link_libraries(both PRIVATE kselect::auto_select kselect::kselect)
END
cp "$here/examples/select/nearest.cpp" "$scratch/both/both.cpp"
if "$cmake" -S "$scratch/both" -B "$scratch/both/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  >/dev/null 2>"$scratch/both/errors"; then
  echo "CMake lets a program link both libraries" >&2
  exit 1
fi
grep -q KSELECT_LIBRARY "$scratch/both/errors"
