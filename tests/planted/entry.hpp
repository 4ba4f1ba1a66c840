#pragma once
// The shape of every planted entry: a right one's declaration and workspace under another name.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect {

// Its calls are `run`.
template <const algorithm& (*right)(), auto run>
algorithm planted(std::string_view name) {
  algorithm entry = right();
  entry.name = name;
  entry.family = "planted";
  entry.source = "tests/planted";
  entry.plan = [](const problem& p, const device& where) {
    return call_plan::of<run>(p, right().plan(p, where).workspace());
  };
  return entry;
}

// A right answer, in the workspace of such a plan.
template <const algorithm& (*right)()>
status solve_by(const problem& p, const io& buffers, std::span<std::byte> workspace,
                const executor& on) {
  return right().plan(p, *on.device).enqueue(buffers, workspace, on);
}

}  // namespace kselect
