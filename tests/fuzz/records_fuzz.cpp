// libFuzzer target: the JSON that other commands read. The first character chooses the reader; the
// rest is its file. A run's folder is meta.json, an empty line, and the records, each on a line.
// The target adds the checksums, which no mutation would meet.

#include <fmt/format.h>
#include <zlib.h>

#include "harness/compare/noise.hpp"
#include "harness/compare/recorded_run.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/meta.hpp"
#include "harness/shards/recorded_shard.hpp"
#include "harness/tune/table_file.hpp"
#include "tests/fuzz/fuzzed.hpp"

using namespace kselect;
using namespace kselect::fuzz;

namespace {

std::string with_checksums(std::string_view records) {
  std::string journal;
  while (!records.empty()) {
    const std::string_view line = records.substr(0, records.find('\n'));
    records.remove_prefix(std::min(records.size(), line.size() + 1));
    const auto crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(line.data()), line.size()));
    journal += fmt::format("{},\"crc32\":\"{:08x}\"}}\n",
                           line.empty() ? line : line.substr(0, line.size() - 1), crc);
  }
  return journal;
}

void read_folder(std::string_view text) {
  const std::size_t between = text.find("\n\n");
  file_with("meta.json", text.substr(0, between));
  file_with("runs.jsonl",
            between == text.npos ? std::string() : with_checksums(text.substr(between + 2)));
  ends_documented([&] { harness::shards::read_shard(folder()).machine(); });
  ends_documented([&] { harness::compare::read_run(folder()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = text_of(data + 1, size - 1);
  switch (data[0]) {
    case 'j':
      ends_documented([&] { harness::read_journal(file_with("runs.jsonl", text)); });
      ends_documented([&] {
        harness::read_journal(file_with("runs.jsonl", with_checksums(text)),
                              harness::system_files(), harness::record_kind::knn_tile);
      });
      break;
    case 'm':
      ends_documented([&] { harness::read_meta(file_with("meta.json", text)); });
      break;
    case 'n':
      ends_documented([&] { harness::compare::read_noise(file_with("noise.json", text)); });
      break;
    case 't':
      ends_documented([&] { harness::tune::read_table(file_with("table.json", text)); });
      break;
    default:
      read_folder(text);
  }
  return 0;
}
