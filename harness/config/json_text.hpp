#pragma once
// Parses JSON text into a tree, strictly: no comments, no repeated keys (most parsers silently keep
// the last one), limited size and depth.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kselect::harness {

inline constexpr std::size_t longest_config = std::size_t{1} << 20;  // bytes

// Throws error(failure::usage): "file:line:column: ..." if the text is no JSON, otherwise "file:
// /json/pointer: ...".
nlohmann::json parse_strict_json(std::string_view text, const std::string& file_name);

// Text from a config for a message: in quotes, on one line, escaped and shortened.
std::string in_quotes(std::string_view text);

// `parent` extended by one key (RFC 6901, with unprintable characters escaped).
std::string pointer_to(std::string_view parent, std::string_view key);

}  // namespace kselect::harness
