#pragma once
// The results of a run, safe against crashes: `runs.jsonl`, one JSON object a line, one finished
// cell each, only ever appended to. A record that append() has returned for survives a kill, a full
// disk and a power failure; one that it threw for has been taken back out of the file.
//
// A line is the object's text with one more last member, the zlib CRC-32 of that text:
//
//   {"schema":1,"key":"..."}  ->  {"schema":1,"key":"...","crc32":"0a1b2c3d"}\n
//
// A line is valid if it is, byte for byte, what append() writes; an empty line is therefore as
// invalid as any other. Every schema version keeps this framing, so that a newer file is refused
// for its version and not mistaken for a damaged one.
//
// Only the last append can be unfinished after a crash. So what follows the last valid line is a
// torn tail if it is one line, or if it holds bytes that no JSON text holds (power failures leave
// zeros). Any other invalid line is damage to what was safely stored, and is never passed over.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/file.hpp"

namespace kselect::harness {

inline constexpr std::string_view journal_name = "runs.jsonl";
// What a finished run's journal is called once it is compressed to be committed. It is read as the
// other, and never written.
inline constexpr std::string_view compressed_journal_name = "runs.jsonl.gz";
inline constexpr std::int64_t journal_schema = 1;

struct record_line {
  std::int64_t line = 0;    // from 1
  std::int64_t offset = 0;  // of the line, in bytes from the start of the file
  std::string text;         // the object as it was given to append(): without "crc32"
};

struct torn_tail {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

struct journal_contents {
  std::vector<record_line> records;
  std::optional<torn_tail> torn;
};

// The journal of a run directory: the compressed one where that is there. Throws
// error(failure::input) where both are, since they may differ.
std::filesystem::path journal_in(const std::filesystem::path& directory);

// Reads the file at `path`, changes nothing, takes no lock; `.gz` is inflated, and places are those
// of the text. Beside a writer it sees what is finished, and perhaps the line being written as a
// torn tail. Throws error(failure::input) when the file cannot be read, is damaged before its tail,
// or has another schema version.
journal_contents read_journal(const std::filesystem::path& path,
                              file_system& files = system_files());

enum class open_mode : std::uint8_t { create_new, resume };

// The one writer of a run directory, which it holds locked (`.lock`) for as long as it lives.
class journal {
 public:
  // Creates the directory and its parents where missing. create_new needs a run directory without
  // records; resume continues one, cutting a torn tail off, or starts afresh in an empty one.
  // `files` must outlive the journal. Throws error(failure::output) when the directory cannot be
  // written, is held by another process, has its records compressed or (create_new) has records;
  // error(failure::input) as read_journal does.
  static journal open(const std::filesystem::path& directory, open_mode mode,
                      file_system& files = system_files());

  // What open() found; append() does not add to it.
  std::span<const record_line> existing() const { return contents_.records; }
  // What open() cut off.
  std::optional<torn_tail> cut() const { return contents_.torn; }

  // Appends one record durably. `json_object_without_crc` is a JSON object on one line, with the
  // member "schema":1 and without "crc32". Throws error(failure::output); the file is then as it
  // was before, and a later append() may succeed. Where even that cannot be restored the message
  // says so, and the next append() or open() restores it first.
  void append(std::string_view json_object_without_crc);

 private:
  journal(file lock, file records, journal_contents contents, std::int64_t bytes);
  void restore();

  file lock_;
  file records_;
  journal_contents contents_;
  std::int64_t bytes_;  // length of the file up to its last finished record
  bool clean_ = true;   // nothing follows it
};

}  // namespace kselect::harness
