// Frames and checks lines, tells a torn tail from damage, writes and syncs each record or takes it
// back, and locks out a second writer.

#include "harness/record/journal.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "runtime/io/readers.hpp"
#include "runtime/json.hpp"

namespace kselect::harness {
namespace {

constexpr std::string_view crc_example = R"(,"crc32":"00000000"})";

// The line without its '\n'. `object` ends in '}'.
std::string with_crc(std::string_view object) {
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(object.data()), object.size()));
  return fmt::format(R"({},"crc32":"{:08x}"}})", object.substr(0, object.size() - 1), crc);
}

// The inverse of with_crc; empty for a line that with_crc does not make.
std::optional<std::string> without_crc(std::string_view line) {
  if (line.size() < crc_example.size()) return std::nullopt;
  std::string object(line.substr(0, line.size() - crc_example.size()));
  object += '}';
  if (with_crc(object) != line) return std::nullopt;
  return object;
}

// Why `object` is no record of this version and kind; empty if it is one.
std::string objection(std::string_view object, record_kind kind) {
  const auto [parsed, why] = try_json(object);
  if (!why.empty()) return why == "is no JSON" ? "is not a JSON object on one line" : why;
  if (!parsed.is_object() || object.front() != '{' || object.back() != '}' ||
      object.find('\n') != std::string_view::npos) {
    return "is not a JSON object on one line";
  }
  if (parsed.contains("crc32")) return "has a member \"crc32\" of its own";
  const auto schema = parsed.find("schema");
  if (schema == parsed.end()) return "has no member \"schema\"";
  if (!schema->is_number_integer() || *schema != journal_schema) {
    return fmt::format("has schema {}, and this program knows schema {} alone", schema->dump(),
                       journal_schema);
  }
  const auto what = parsed.find("what");
  const nlohmann::ordered_json expected(std::string(to_string(kind)));
  if (what == parsed.end() ? kind == record_kind::cell : *what == expected) return {};
  return fmt::format("is a record of {}, not of {}; name another directory",
                     what == parsed.end() ? "a sweep" : what->dump(),
                     kind == record_kind::cell ? "a sweep" : expected.dump());
}

// False for raw control characters and for bytes that UTF-8 does not use.
bool occurs_in_json(char character) {
  const auto byte = static_cast<unsigned char>(character);
  if (byte < 0x20) return byte == '\t' || byte == '\n' || byte == '\r';
  return byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
}

// Whether `text` is the begin of a first record, as far as an interrupted append wrote it.
bool begins_a_journal(std::string_view text) {
  std::string_view written = text.substr(0, text.find('\0'));
  const std::string begin = fmt::format(R"({{"schema":{})", journal_schema);
  if (!written.starts_with(begin) && !std::string_view(begin).starts_with(written)) return false;
  // A whole object without a checksum was not written by append(), not even by one that was cut
  // off before the end of the line.
  if (written.ends_with('\n')) written.remove_suffix(1);
  return !nlohmann::json::accept(written) || without_crc(written);
}

// Whether an interrupted append left `rest`, which begins with an invalid line.
bool is_torn(std::string_view rest) {
  const std::size_t first_end = rest.find('\n');
  if (first_end == std::string_view::npos || first_end + 1 == rest.size()) return true;
  std::size_t begin = first_end + 1;
  for (std::size_t end; (end = rest.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    if (without_crc(rest.substr(begin, end - begin))) return false;
  }
  return !std::all_of(rest.begin(), rest.end(), occurs_in_json);
}

journal_contents parse_journal(std::string_view text, const std::filesystem::path& path,
                               record_kind kind) {
  journal_contents contents;
  std::size_t begin = 0;
  for (std::int64_t line = 1; begin < text.size(); ++line) {
    const auto offset = static_cast<std::int64_t>(begin);
    const std::size_t end = text.find('\n', begin);
    std::optional<std::string> object;
    if (end != std::string_view::npos) object = without_crc(text.substr(begin, end - begin));
    if (!object) {
      if (!is_torn(text.substr(begin))) {
        throw error(
            failure::input,
            fmt::format("{}: line {} (byte {}) is damaged: its checksum does not match; "
                        "restore the file, or {}",
                        path.string(), line, offset,
                        kind == record_kind::cell ? "delete the line to measure its cell again"
                                                  : "remove the job's directory and start again"));
      }
      if (begin == 0 && !begins_a_journal(text)) {
        throw error(failure::input,
                    fmt::format("{}: is no journal of this program; name another directory, or "
                                "move the file away",
                                path.string()));
      }
      contents.torn = torn_tail{offset, static_cast<std::int64_t>(text.size() - begin)};
      break;
    }
    if (const std::string reason = objection(*object, kind); !reason.empty()) {
      const bool of_version = reason.find("schema") != std::string::npos;
      throw error(failure::input,
                  fmt::format("{}: line {} (byte {}) {}{}", path.string(), line, offset, reason,
                              of_version ? "; use the version that wrote it" : ""));
    }
    contents.records.push_back({line, offset, std::move(*object)});
    begin = end + 1;
  }
  return contents;
}

// The whole text of a gzip file. Text seldom shrinks to less than a sixteenth.
std::string inflated(const std::filesystem::path& path, const std::string& compressed) {
  const auto bytes = std::as_bytes(std::span(compressed));
  for (std::int64_t room = 16 * std::ssize(bytes) + 1;; room *= 4) {
    const std::vector<std::byte> text = gunzip(path, bytes, room);
    // Only a buffer with room left shows that the text and its checksum were read completely.
    if (std::ssize(text) < room) return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
}

// Refuses to start a second journal beside a compressed one.
void require_not_compressed(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / compressed_journal_name;
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return;
  throw error(failure::output,
              fmt::format("{}: the results there are compressed; gunzip the file to continue them, "
                          "or choose another directory",
                          path.string()));
}

// A sweep's directory may have no record yet, but it has a meta.json.
void require_no_sweep(const std::filesystem::path& directory, record_kind kind) {
  std::error_code unreadable;
  if (kind == record_kind::cell || !std::filesystem::exists(directory / "meta.json", unreadable)) {
    return;
  }
  throw error(failure::output,
              fmt::format("{}: is the directory of a sweep; name another one", directory.string()));
}

file lock_directory(const std::filesystem::path& directory, file_system& files) {
  file lock(directory / ".lock", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, failure::output, files);
  if (!lock.try_lock()) {
    std::string holder = lock.read_all();
    holder = holder.substr(0, holder.find_first_not_of("0123456789"));
    throw error(failure::output,
                fmt::format("{}: in use by another run, process {}; wait for it, or choose another "
                            "directory with --out",
                            directory.string(), holder.empty() ? "unknown" : holder));
  }
  if (lock.read_all().find_first_not_of("0123456789\n") != std::string::npos) {
    throw error(failure::output,
                fmt::format("{}: is no lock of this program; move it away", lock.path().string()));
  }
  lock.truncate(0);
  lock.write_all(fmt::format("{}\n", getpid()));
  return lock;
}

}  // namespace

std::filesystem::path journal_in(const std::filesystem::path& directory) {
  const std::filesystem::path plain = directory / journal_name;
  const std::filesystem::path compressed = directory / compressed_journal_name;
  std::error_code unreadable;
  if (!std::filesystem::exists(compressed, unreadable)) return plain;
  if (std::filesystem::exists(plain, unreadable)) {
    throw error(failure::input,
                fmt::format("{}: has both {} and {}; remove the one that is not meant",
                            directory.string(), journal_name, compressed_journal_name));
  }
  return compressed;
}

journal_contents read_journal(const std::filesystem::path& path, file_system& files,
                              record_kind kind) {
  const std::string stored = file(path, O_RDONLY, failure::input, files).read_all();
  return parse_journal(path.extension() == ".gz" ? inflated(path, stored) : stored, path, kind);
}

journal journal::open(const std::filesystem::path& directory, open_mode mode, file_system& files,
                      record_kind kind) {
  require_not_compressed(directory);
  require_no_sweep(directory, kind);
  make_directories(directory, files);
  file lock = lock_directory(directory, files);
  remove_abandoned_snapshots(directory);
  const std::filesystem::path path = directory / journal_name;
  file records(path, O_RDWR | O_CREAT | O_APPEND, failure::output, files);
  sync_directory(directory, files);

  const std::string text = records.read_all();
  if (mode == open_mode::create_new && !text.empty()) {
    throw error(failure::output,
                fmt::format("{}: already has results; continue them with --resume, or choose "
                            "another directory with --out",
                            path.string()));
  }
  journal_contents contents = parse_journal(text, path, kind);
  auto bytes = static_cast<std::int64_t>(text.size());
  if (contents.torn) {
    bytes = contents.torn->offset;
    records.truncate(bytes);
  }
  // A writer killed before its sync may have left a record that is only in memory.
  records.sync_data();
  return {std::move(lock), std::move(records), std::move(contents), bytes, kind};
}

journal::journal(file lock, file records, journal_contents contents, std::int64_t bytes,
                 record_kind kind)
    : lock_(std::move(lock)),
      records_(std::move(records)),
      contents_(std::move(contents)),
      bytes_(bytes),
      kind_(kind) {}

void journal::append(std::string_view json_object_without_crc) {
  if (const std::string reason = objection(json_object_without_crc, kind_); !reason.empty()) {
    throw error(failure::output,
                fmt::format("{}: a record to append {}; nothing was written: report this as a bug",
                            records_.path().string(), reason));
  }
  const std::string line = with_crc(json_object_without_crc) + '\n';
  if (!clean_) restore();
  clean_ = false;
  try {
    records_.write_all(line);
    records_.sync_data();
  } catch (const error& unwritten) {
    try {
      restore();
    } catch (const error& unrestored) {
      throw error(failure::output,
                  fmt::format("{}; the incomplete line could not be removed ({}): continue with "
                              "--resume, which checks it and keeps all lines before it",
                              unwritten.what(), unrestored.what()));
    }
    throw error(failure::output,
                fmt::format("{}; the records before this one are kept: continue with --resume",
                            unwritten.what()));
  }
  clean_ = true;
  bytes_ += static_cast<std::int64_t>(line.size());
}

// Correct even after a failed sync, when the system may mark pages clean that it never wrote. The
// truncation drops the pages past the cut; the next append makes the page at the cut dirty again.
void journal::restore() {
  records_.truncate(bytes_);
  clean_ = true;
}

}  // namespace kselect::harness
