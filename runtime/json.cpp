#include "runtime/json.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace kselect::runtime {
namespace {

// The depth of the brackets outside strings. Of text that is no JSON, any number will do.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

json_or_why try_json(std::string_view text) {
  // The parser takes a zero byte for the end and would not see what follows it.
  if (text.find('\0') != std::string_view::npos) return {{}, "holds a zero byte"};
  if (depth_of(text) > deepest_json) {
    return {{}, fmt::format("nests deeper than {}", deepest_json)};
  }
  auto tree = nlohmann::ordered_json::parse(text, nullptr, false);
  if (tree.is_discarded()) return {{}, "is no JSON"};
  return {std::move(tree), ""};
}

nlohmann::ordered_json parse_json(std::string_view text, const std::string& name) {
  json_or_why read = try_json(text);
  if (!read.why.empty()) throw error(failure::input, fmt::format("{}: {}", name, read.why));
  return std::move(read.tree);
}

nlohmann::ordered_json read_json(const std::filesystem::path& file) {
  std::error_code unknown;
  const auto status = std::filesystem::status(file, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw error(failure::input, fmt::format("{}: is not a regular file", file.string()));
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) {
    throw error(failure::input, fmt::format("{}: cannot be read: {}", file.string(),
                                            std::strerror(errno == 0 ? EIO : errno)));
  }
  return parse_json(text, file.string());
}

std::string reason_of(const std::exception& problem) {
  const std::string_view text = problem.what();
  const bool numbered = dynamic_cast<const nlohmann::json::exception*>(&problem) != nullptr;
  return std::string(numbered ? text.substr(text.find(' ') + 1) : text);
}

void refuse_number(const std::string& value, std::int64_t least, std::uint64_t most) {
  throw std::invalid_argument(
      fmt::format("{} is no whole number from {} to {}", value, least, most));
}

std::string to_text(const nlohmann::ordered_json& tree, int indent) {
  return tree.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kselect::runtime
