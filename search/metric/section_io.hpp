#pragma once
// Converts arrays to and from the sections of a set or an index.

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

template <class Range>
void append_section(sections& out, std::string name, const Range& values) {
  const auto bytes = std::as_bytes(std::span(values));
  out.push_back({std::move(name), {bytes.begin(), bytes.end()}});
}

inline bool has_section(const sections& in, std::string_view name) {
  return std::ranges::any_of(in, [&](const section& s) { return s.name == name; });
}

// Throws std::invalid_argument if there is no such section or if its length is no multiple of T's.
template <class T>
std::vector<T> section_values(const sections& from, std::string_view name) {
  static_assert(std::is_trivially_copyable_v<T>);
  for (const section& s : from) {
    if (s.name != name) continue;
    if (s.bytes.size() % sizeof(T) != 0) {
      throw std::invalid_argument("section " + std::string(name) + " has a broken length");
    }
    std::vector<T> values(s.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), s.bytes.data(), s.bytes.size());
    return values;
  }
  throw std::invalid_argument("section " + std::string(name) + " is missing");
}

}  // namespace kselect::search::metric_space
