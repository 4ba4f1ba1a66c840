#pragma once
// Numbers as people read them.

#include <string>

namespace kselect::runtime {

// "123 us", "1.23 ms", "12.3 s": three significant digits.
std::string format_time(double nanoseconds);

}  // namespace kselect::runtime
