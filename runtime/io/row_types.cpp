#include "runtime/io/row_types.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

bool has_own_type(dtype type) { return parse<element_type>(to_string(type)).has_value(); }

std::string listed(bool all) {
  std::vector<std::string_view> found;
  for (const auto& type : names<dtype>) {
    if (all || has_own_type(type.value)) found.push_back(type.name);
  }
  const std::string_view last = found.back();
  found.pop_back();
  return fmt::format("{} or {}", fmt::join(found, ", "), last);
}

bool is_integer(element_type held) {
  return held != element_type::float16 && held != element_type::float32 &&
         held != element_type::float64;
}

dtype bits_type(const std::string& file, element_type held, dtype type) {
  const auto bits = 8 * size_of(type);
  if (is_integer(held) && size_of(held) == static_cast<std::int64_t>(size_of(type))) return type;
  throw error(failure::input,
              fmt::format("{}: holds {}, but rows of {} are saved as integers of {} bits: "
                          "array.view(numpy.int{})",
                          file, to_string(held), to_string(type), bits, bits));
}

}  // namespace

dtype row_type(const std::string& file, element_type held, std::string_view named) {
  const auto own = parse<dtype>(to_string(held));
  if (named.empty() && own) return *own;
  if (named.empty()) {
    const char* const to = size_of(held) == 8 ? ".astype(numpy.float64), which is exact up to 2^53"
                                              : ".astype(numpy.float32)";
    throw error(failure::input, fmt::format("{}: holds {}, but rows must be {}; convert it with "
                                            "numpy's {}",
                                            file, to_string(held), listed(false), to));
  }
  const auto type = parse<dtype>(named);
  if (!type) {
    throw error(failure::usage,
                fmt::format("--dtype '{}' is no type of rows; there are {}", named, listed(true)));
  }
  if (!has_own_type(*type)) return bits_type(file, held, *type);
  if (own == type) return *type;
  throw error(failure::input,
              fmt::format("{}: holds {}, not {}; leave --dtype out", file, to_string(held), named));
}

std::string row_types_of_files() { return listed(false); }
std::string row_types() { return listed(true); }

}  // namespace kselect::runtime
