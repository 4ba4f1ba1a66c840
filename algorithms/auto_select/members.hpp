#pragma once
// What `auto` may run where. The host's members and rules stand in auto_select.cpp, a GPU's in
// gpu_members.cpp. A library for the CPU alone has no_gpu.cpp instead, and so no kernel.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect {

using entries_of_file = std::span<const algorithm> (*)();

struct rule {
  entries_of_file file;
  std::string_view member;
  bool (*applies)(const problem&, const device&);
  std::string_view reason;
  bool before_tables = false;  // decides even where a cost table predicts
};

// For GPUs and fibers. The first rule that applies, and whose member supports the problem, decides.
std::span<const rule> gpu_rules();

// The files whose entries `auto` can run on a GPU or on fibers.
std::span<const entries_of_file> gpu_files();

}  // namespace kselect
