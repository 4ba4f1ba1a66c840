#pragma once
// Runs a kernel on fibers for a test, and checks the message of a failed run.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/simt/launch.hpp"

namespace kselect::simt {

template <class Kernel>
status run_on_fibers(const grid& shape, const typename Kernel::args& args,
                     const fiber_options& options = {}) {
  device cpu;
  cpu.kind = executor_kind::fiber;
  return launch<Kernel>({.device = &cpu, .fiber = &options}, shape, args);
}

template <class T>
global<T> over(std::vector<T>& elements) {
  return {elements.data(), static_cast<std::int64_t>(elements.size())};
}

// in_order, reversed, and eight seeds of random.
inline std::vector<fiber_options> all_schedules() {
  std::vector<fiber_options> all = {{.order = schedule::in_order}, {.order = schedule::reversed}};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    all.push_back({.order = schedule::random, .seed = seed});
  }
  return all;
}

// Expects a failure whose message is one line and contains every part.
inline void expect_failure(const status& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.code, status_code::failed);
  EXPECT_EQ(outcome.message.find('\n'), std::string::npos);
  for (const std::string& part : parts) {
    EXPECT_NE(outcome.message.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << outcome.message;
  }
}

// "this_file.cpp:12", the end of a call site as messages print it.
inline std::string site(std::string_view file, int line) {
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line);
}

}  // namespace kselect::simt
