#pragma once
// JSON that others wrote, read with bounds: every reader of records, tables and messages parses
// here. Configs have stricter rules (harness/config/json_text.hpp).
//
// Copying, comparing and printing a tree recurse, so text that nests deeper than any document of
// this program is refused before it is parsed.

#include <concepts>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/error.hpp"

namespace kselect::runtime {

inline constexpr int deepest_json = 64;

// A tree, or why the text is no JSON of at most that depth.
struct json_or_why {
  nlohmann::ordered_json tree;
  std::string why;  // empty if there is a tree
};
json_or_why try_json(std::string_view text);

// Throws error(failure::input), "NAME: ...", if the text is no JSON or nests too deep.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& name);
// The whole file. Throws error(failure::input) also if it cannot be read or is no regular file.
nlohmann::ordered_json read_json(const std::filesystem::path& file);

// The text of a tree. Bytes that are not UTF-8, as file names may have, are replaced.
std::string to_text(const nlohmann::ordered_json& tree, int indent = -1);

// What an exception says, without the number that nlohmann's own begin with.
std::string reason_of(const std::exception& problem);

[[noreturn]] void refuse_number(const std::string& value, std::int64_t least, std::uint64_t most);

// The value as a Number. Throws std::invalid_argument if it is no whole number or does not fit.
// nlohmann's own conversion cuts what does not fit, and is undefined for 1e44.
template <std::integral Number, class Json>
Number whole(const Json& value) {
  if (value.is_number_unsigned()) {
    if (const auto it = value.template get<std::uint64_t>(); std::in_range<Number>(it)) {
      return static_cast<Number>(it);
    }
  } else if (value.is_number_integer()) {
    if (const auto it = value.template get<std::int64_t>(); std::in_range<Number>(it)) {
      return static_cast<Number>(it);
    }
  }
  using limits = std::numeric_limits<Number>;
  refuse_number(value.dump(), static_cast<std::int64_t>(limits::min()),
                static_cast<std::uint64_t>(limits::max()));
}

// Calls read(). If a member is missing or of another kind than it expects, throws
// error(failure::input): "NAME: ...".
template <class Read>
auto read_members(const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    throw error(failure::input, name + ": " + reason_of(problem));
  }
}

}  // namespace kselect::runtime
