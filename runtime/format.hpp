#pragma once
// Numbers as people read them.

#include <string>

namespace kselect::runtime {

// "123 us", "1.23 ms", "12.3 s": three significant digits.
std::string format_time(double nanoseconds);

// A time and half the width of its interval, in one unit and with the same decimals: "1.23±0.04
// ms".
std::string format_time(double nanoseconds, double half);

}  // namespace kselect::runtime
