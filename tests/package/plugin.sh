#!/usr/bin/env bash
# Builds against an installed kselect the plug-in that docs/guide/plugins.md shows, examples/plugin, and one without
# CMake, and uses them:
#   plugin.sh CMAKE SCRATCH_DIR PYTHON
# SCRATCH_DIR/prefix is the installed kselect. PYTHON has what plots/requirements.txt names.
set -euo pipefail
cmake=$1 scratch=$2 python=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
kselect=$scratch/prefix/bin/kselect
cp -r "$here/examples/plugin" "$scratch/plugin"  # so that nothing of the tree is found beside it
"$cmake" -S "$scratch/plugin" -B "$scratch/plugin/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
"$cmake" --build "$scratch/plugin/build"
cd "$scratch/plugin"
plugin=build/warp_list.so
[ "$("$kselect" list --names --plugin "$plugin" | tail -2 | paste -sd,)" = "warp-list,cpu/list" ]
"$kselect" test warp-list --executor fiber --plugin "$plugin"
"$kselect" test cpu/list --plugin "$plugin"
cat >mine.json <<'END'
{
  "schema": "kselect-config/1",
  "name": "mine",
  "axes": {"n": [1024, 4096], "q": 16, "k": 8},
  "algorithms": ["auto", "cpu/list"],
  "executor": "cpu",
  "measure": {"rounds": 3, "min_samples": 3, "max_samples": 30, "max_seconds": 0.5}
}
END
"$kselect" run mine.json --out out --plugin "$plugin"
"$kselect" show out | grep -q cpu/list
KSELECT_PYTHON=$python "$kselect" plot out --out drawn
grep -q 'cpu/list' drawn/index.html

# The two files of the guide, as they stand there.
block() {
  awk -v fence="^\`\`\`$1\$" '/^```/ && inside { exit } inside { print } $0 ~ fence { inside = 1 }' \
    "$here/docs/guide/plugins.md"
}
mkdir "$scratch/guide"
cd "$scratch/guide"
block cmake >CMakeLists.txt
block cpp >mine.cu
"$cmake" -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
"$cmake" --build build
"$kselect" list my-kernel --plugin build/mine.so | grep -q '^mine '
"$kselect" test my-kernel --executor fiber --plugin build/mine.so
cd "$scratch/plugin"

# One entry on the CPU, by the compiler alone.
cat >alone.cpp <<'END'
#include <algorithm>
#include <numeric>
#include <vector>

#include "kselect/order.hpp"
#include "kselect/plugin.hpp"

namespace kselect::entries {
static status start(const problem& p, const io& io, std::span<std::byte>, const executor&) {
  const auto* const rows = static_cast<const float*>(io.input);
  std::vector<float> row(static_cast<std::size_t>(p.n));
  for (std::int64_t r = 0; r < p.q; ++r) {
    for (std::int64_t i = 0; i < p.n; ++i) row[static_cast<std::size_t>(i)] = rows[p.offset(r, i)];
    std::partial_sort(row.begin(), row.begin() + p.k, row.end(), [&](float a, float b) {
      return selection_key(a, p.direction) < selection_key(b, p.direction);
    });
    std::copy(row.begin(), row.begin() + p.k, static_cast<float*>(io.values) + r * p.k);
  }
  return {};
}
std::span<const algorithm> alone() {
  static const algorithm entry = [] {
    algorithm a;
    a.name = "cpu/alone";
    a.family = "mine";
    a.source = "mine";
    a.executors = set_of(executor_kind::cpu);
    a.payloads = set_of(payload::values);
    a.plan = [](const problem& p, const device&) { return call_plan::of<&start>(p); };
    return a;
  }();
  return {&entry, 1};
}
}  // namespace kselect::entries
KSELECT_PLUGIN(alone);
END
"${CXX:-c++}" -std=c++20 -O2 -shared -fPIC -fvisibility=hidden -I "$scratch/prefix/include" alone.cpp -o alone.so
"$kselect" test cpu/alone --plugin alone.so
