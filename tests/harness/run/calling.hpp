#pragma once
// Entries for tests: a right one's declarations and workspace, and other calls.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect::harness {

// The entry of right() under another name, whose calls are `run`.
template <auto right, auto run>
algorithm calling(std::string_view name) {
  algorithm entry = right();
  entry.name = name;
  entry.plan = [](const problem& p, const device& where) {
    const algorithm& answering = right();
    return call_plan::of<run>(p, answering.plan(p, where).workspace());
  };
  return entry;
}

inline status do_nothing(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {};
}

}  // namespace kselect::harness
