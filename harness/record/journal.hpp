#pragma once
// The results of a run, safe against crashes: `runs.jsonl`, one JSON object per line and one
// finished cell per object. Lines are only appended. If append() returns, the record survives a
// kill, a full disk and a power failure. If it throws, the record has been removed from the file.
//
// A line is the object's text with a last member added: the zlib CRC-32 of that text.
//
//   {"schema":1,"key":"..."}  ->  {"schema":1,"key":"...","crc32":"0a1b2c3d"}\n
//
// A line is valid if append() would write exactly these bytes; so an empty line is invalid. Every
// schema version keeps this framing, so that a newer file is refused for its version and not for
// damage.
//
// A crash can leave only the last append unfinished. So the text after the last valid line is a
// torn tail if it is a single line or holds bytes that no JSON text has (a power failure leaves
// zeros). Any other invalid line is damage to a stored record and always an error. Where no valid
// line precedes it, the tail must begin as a record does: another program's file is not cut.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/file.hpp"
#include "kselect/names.hpp"

namespace kselect::harness {

inline constexpr std::string_view journal_name = "runs.jsonl";
// The name of a finished run's journal after it was compressed to be committed. It can be read like
// the other, but never written.
inline constexpr std::string_view compressed_journal_name = "runs.jsonl.gz";
inline constexpr std::int64_t journal_schema = 1;

// What a journal is a journal of. Every record says it by its member "what"; a sweep's cells, which
// are older than the other kinds, have none.
enum class record_kind : std::uint8_t { cell, knn_tile };
constexpr auto names_of(record_kind) {
  return std::to_array<named<record_kind>>(
      {{record_kind::cell, "cell"}, {record_kind::knn_tile, "knn_tile"}});
}

struct record_line {
  std::int64_t line = 0;    // from 1
  std::int64_t offset = 0;  // of the line, in bytes from the start of the text
  std::string text;         // the object given to append(), without "crc32"
};

struct torn_tail {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct journal_contents {
  std::vector<record_line> records;
  std::optional<torn_tail> torn;
};

// The journal of a run directory: the compressed one if it exists. Throws error(failure::input) if
// both exist, since they may differ.
std::filesystem::path journal_in(const std::filesystem::path& directory);

// Reads the file at `path` without changes or locks. A `.gz` file is inflated; offsets refer to the
// inflated text. While a run writes, this sees the finished records and perhaps an unfinished one
// as a torn tail. Throws error(failure::input) if the file cannot be read, is damaged before its
// tail, has another schema version or records of another kind.
journal_contents read_journal(const std::filesystem::path& path,
                              file_system& files = system_files(),
                              record_kind kind = record_kind::cell);

enum class open_mode : std::uint8_t { create_new, resume };

// The only writer of a run directory. It holds the lock (`.lock`) for its whole lifetime.
class journal {
 public:
  // Creates the directory and missing parents. create_new requires that it has no records; resume
  // continues them after cutting a torn tail off, or starts afresh if there are none. `files` must
  // outlive the journal. Throws error(failure::output) if the directory cannot be written, is held
  // by another process, has compressed records or (create_new) has records; error(failure::input)
  // like read_journal, so also for a journal of another kind, which is left as it is.
  static journal open(const std::filesystem::path& directory, open_mode mode,
                      file_system& files = system_files(), record_kind kind = record_kind::cell);

  const std::filesystem::path& path() const { return records_.path(); }
  // The records that open() found. append() does not add to them.
  std::span<const record_line> existing() const { return contents_.records; }
  // The torn tail that open() cut off.
  std::optional<torn_tail> cut() const { return contents_.torn; }

  // Appends one record durably. `json_object_without_crc` is a JSON object on one line, with the
  // member "schema":1 and without "crc32". Throws error(failure::output). The file is then as
  // before, and a later append() may succeed. If the file cannot be restored, the message says so,
  // and the next append() or open() restores it first.
  void append(std::string_view json_object_without_crc);

 private:
  journal(file lock, file records, journal_contents contents, std::int64_t bytes, record_kind kind);
  void restore();

  file lock_;
  file records_;
  journal_contents contents_;
  std::int64_t bytes_;  // length of the file up to its last finished record
  bool clean_ = true;   // nothing follows it
  record_kind kind_;
};

}  // namespace kselect::harness
