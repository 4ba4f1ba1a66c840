// An output is locked by a file `.NAME.lock` beside it and not by itself: it appears only when the
// job ends, and then under the name of whatever was there before. Where it is a symbolic link, the
// lock is beside the file that the link names.

#include "runtime/io/job_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/stream.hpp"

namespace kselect::runtime {
namespace {

std::optional<std::pair<dev_t, ino_t>> place_of(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

// A path without links and dots, as far as it exists.
std::filesystem::path plain(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto found =
      std::filesystem::weakly_canonical(std::filesystem::absolute(behind_links(path)), unknown);
  return unknown ? path.lexically_normal() : found;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto of_a = place_of(a), of_b = place_of(b);
  if (of_a && of_b) return *of_a == *of_b;
  return plain(a) == plain(b);
}

// At most one of the files is "-", and only where a stream will do.
void require_one_stream(std::span<const named_file> files, const char* stream) {
  const named_file* first = nullptr;
  for (const named_file& file : files) {
    if (file.path != "-") continue;
    if (!file.takes_stream) {
      throw error(failure::usage,
                  fmt::format("{} -: {} will not do here; name a file", file.option, stream));
    }
    if (first != nullptr) {
      throw error(failure::usage, fmt::format("{} and {} are both -, but there is one {}; name a "
                                              "file",
                                              first->option, file.option, stream));
    }
    first = &file;
  }
}

// Streams and options that were not given are nothing that a name could collide with.
bool has_no_name(const named_file& file) {
  return file.path.empty() || (file.takes_stream && is_stream(file.path));
}

void require_distinct(std::span<const named_file> inputs, std::span<const named_file> outputs) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const named_file& out = outputs[o];
    if (has_no_name(out)) continue;
    for (const named_file& in : inputs) {
      if (has_no_name(in) || !same_file(in.path, out.path)) continue;
      throw error(
          failure::usage,
          fmt::format("{} and {} are the same file, {}: the result would replace the input; "
                      "name another file",
                      out.option, in.option, out.path.string()));
    }
    for (const named_file& other : outputs.first(o)) {
      if (has_no_name(other) || !same_file(other.path, out.path)) continue;
      throw error(failure::usage, fmt::format("{} and {} are the same file, {}: name two files",
                                              other.option, out.option, out.path.string()));
    }
  }
}

[[noreturn]] void fail(const std::filesystem::path& target, const char* action, int reason) {
  throw error(failure::output,
              fmt::format("{}: cannot {}: {}", target.string(), action, std::strerror(reason)));
}

}  // namespace

bool take_standard_output(std::span<const named_file> outputs) {
  return std::ranges::any_of(outputs, [](const named_file& out) {
    return out.path == "-" || out.path == "/dev/stdout" || out.path == "/dev/fd/1";
  });
}

job_files::job_files(std::span<const named_file> inputs, std::span<const named_file> outputs) {
  require_one_stream(inputs, "standard input");
  require_one_stream(outputs, "standard output");
  require_distinct(inputs, outputs);
  locks_.reserve(outputs.size());
  for (const named_file& out : outputs) {
    if (!has_no_name(out)) take(out.path);
  }
}

job_files::~job_files() {
  // The name goes first: whoever opens it next must not wait for a file without a name.
  for (lock& held : locks_) {
    held.name.remove();
    ::close(held.descriptor);
  }
}

void job_files::take(const std::filesystem::path& target) {
  require_regular_target(target);
  const std::filesystem::path place = behind_links(target);
  const std::filesystem::path path =
      place.parent_path() / fmt::format(".{}.lock", place.filename().string());
  for (;;) {
    const int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor < 0) fail(target, "create a file beside it", errno);
    struct stat opened = {};
    const bool ours =
        ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_size == 0;
    const bool locked = ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int reason = errno;
    if (locked && place_of(path) == std::pair(opened.st_dev, opened.st_ino)) {
      locks_.push_back({descriptor, temporary_file(path)});
      return;
    }
    ::close(descriptor);
    if (!ours) {
      throw error(failure::output,
                  fmt::format("{}: its lock {} is a file of something else; move that away",
                              target.string(), path.string()));
    }
    if (!locked && reason == EWOULDBLOCK) {
      throw error(failure::output,
                  fmt::format("{}: another job writes it; wait for it, or name another file",
                              target.string()));
    }
    if (!locked) fail(target, "lock the file beside it", reason);
    // Its holder ended between our two steps and took the name away: try with a new file.
  }
}

}  // namespace kselect::runtime
