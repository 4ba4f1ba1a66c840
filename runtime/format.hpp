#pragma once
// Numbers as people read them.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace kselect::runtime {

// "123 us", "1.23 ms", "12.3 s": three significant digits.
std::string format_time(double nanoseconds);

// A time and half the width of its interval, in one unit and with the same decimals: "1.23±0.04
// ms".
std::string format_time(double nanoseconds, double half);

// A count and its noun, which is given in the singular: "1 cell", "2 cells", "3 queries", "2
// passes".
std::string amount_of(std::int64_t count, std::string_view noun);
template <std::integral Count>
std::string amount_of(Count count, std::string_view noun) {
  return amount_of(static_cast<std::int64_t>(count), noun);
}

}  // namespace kselect::runtime
