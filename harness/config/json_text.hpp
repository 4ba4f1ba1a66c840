#pragma once
// JSON text into a tree, as strictly as a config needs it: no comments, no repeated keys (of which
// the usual parsers keep the last one silently), bounded size and depth.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kselect::harness {

inline constexpr std::size_t longest_config = std::size_t{1} << 20;  // bytes

// Throws error(failure::usage): "file:line:column: ..." where the text is no JSON, else
// "file: /json/pointer: ...".
nlohmann::json parse_strict_json(std::string_view text, const std::string& file_name);

// A text from a config as messages show it: in quotes, on one line, escaped and shortened.
std::string in_quotes(std::string_view text);

// `parent` extended by one key (RFC 6901, with unprintable characters escaped).
std::string pointer_to(std::string_view parent, std::string_view key);

}  // namespace kselect::harness
