#pragma once
// The standard streams of the program: reserved at the start, and never the reason for a crash.

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace kselect::runtime {

// Opens the descriptors 0 to 2 that are closed, so that no file of results gets their number. What
// is then read from 0 is empty, a write to 1 fails, and what is written to 2 is lost.
void reserve_standard_descriptors();

// Writes `text` to stderr as it is. If stderr cannot be written, the text is lost, and no more.
void write_message(std::string_view text);

template <class... Arguments>
void print_message(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_message(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// Writes what stdout holds back. Throws error(failure::output) if anything printed was lost.
void finish_standard_output();

// The text on one line, control characters escaped ("\n", "\x1b"): file names and records may hold
// any byte, and a terminal obeys some of them.
std::string one_line(std::string_view text);

}  // namespace kselect::runtime
