// libFuzzer target: index files. The input is a file as it is, or (behind 'H') a header's JSON, a
// zero byte and the bytes of the sections. The target then adds what no mutation would meet: the
// preamble and all hashes, and it puts the sections one behind the other.

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "search/metric/index_file.hpp"
#include "tests/fuzz/fuzzed.hpp"

using namespace kselect;
using namespace kselect::fuzz;
using json = nlohmann::ordered_json;

namespace {

void place_sections(json& header, std::string_view bytes, std::size_t begin) {
  std::size_t at = 0;
  for (json& section : header["sections"]) {
    if (!section.is_object() || !section.contains("bytes")) continue;
    if (!section["bytes"].is_number_unsigned()) continue;
    const auto size = std::min<std::size_t>(section["bytes"].get<std::size_t>(), bytes.size() - at);
    section["bytes"] = size;
    // Numbers of one width, so that the header's length is known before them.
    section["offset"] = 40000 + begin + at;
    section["xxh3"] = fmt::format("{:016x}", XXH3_64bits(bytes.data() + at, size));
    at += size;
  }
}

// The whole file, padded to where the sections begin.
std::string whole_file(std::string_view input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  json header = json::parse(input.substr(0, end), nullptr, false);
  const std::string_view bytes = input.substr(std::min(input.size(), end + 1));
  const bool has_sections =
      header.is_object() && header.contains("sections") && header["sections"].is_array();
  if (has_sections) place_sections(header, bytes, 0);
  const std::string text = header.is_discarded()
                               ? std::string(input.substr(0, end))
                               : header.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string file = "kselidx\n";
  const auto append = [&](std::uint64_t number, std::size_t size) {
    file.append(reinterpret_cast<const char*>(&number), size);
  };
  append(1, 4);
  append(0, 4);
  append(text.size(), 8);
  append(XXH3_64bits(text.data(), text.size()), 8);
  const std::size_t whole = std::max<std::size_t>(40 + text.size(), 40000) + bytes.size();
  append(whole, 8);
  file += text;
  file.resize(std::max<std::size_t>(file.size(), 40000));
  return file += bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of(data, size);
  const auto path = file_with(
      "x.index", input.starts_with('H') ? whole_file(input.substr(1)) : std::string(input));
  ends_documented([&] {
    const auto read = search::metric_space::read_index_file(path.string());
    for (std::int64_t i = 0; i < std::min<std::int64_t>(read.objects->count(), 8); ++i) {
      read.objects->text(i);
    }
    // What was accepted is written and read again as it is.
    const auto copy = folder() / "copy.index";
    search::metric_space::write_index_file(copy.string(), read);
    const auto again = search::metric_space::read_index_file(copy.string());
    require(again.objects->hash() == read.objects->hash(), "another index", copy.string());
  });
  return 0;
}
