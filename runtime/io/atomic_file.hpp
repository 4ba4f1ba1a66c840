#pragma once
// A file that appears under its name completely or not at all.
//
// Bytes go to a temporary file in the same directory. commit() syncs it, renames it over the target
// and syncs the directory. If the program stops before that, the target is unchanged. A reader
// never sees a partial file, and after commit() the file survives a power cut.
//
// Where the target is a symbolic link, all of this happens to the file that the link names, and the
// link stays.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "runtime/io/temporary_file.hpp"

namespace kselect::runtime {

// The file that a name leads to through symbolic links, whether it exists or not: the name itself
// where it is no link, and one of the links where they lead in a circle.
std::filesystem::path behind_links(const std::filesystem::path& name);

// Throws failure::output if its folder is missing, or what is there is no regular file.
void require_regular_target(const std::filesystem::path& target);

// So that no hours are spent on a file that cannot be finished: throws failure::output if the disk
// of the target has fewer bytes free, beside those `promised` to other outputs there.
void require_free_space(const std::filesystem::path& target, std::int64_t bytes,
                        std::int64_t promised = 0);

// Whether "-" and FIFOs are targets, too (stream.hpp).
enum class stream_targets { refused, allowed };

class atomic_file {
 public:
  // Creates the temporary file. Every member throws failure::output with the system's reason, also
  // for an existing target that is not a regular file (/dev/null, a directory).
  // A stream, if allowed, gets everything at commit().
  explicit atomic_file(std::filesystem::path target,
                       stream_targets streams = stream_targets::refused);
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  // Without a commit, removes the temporary file.
  ~atomic_file();

  const std::filesystem::path& target() const { return target_; }
  void write(std::span<const std::byte> bytes);
  // Syncs what was written, so that commit() can hardly fail. Of several files of one result, all
  // are finished before the first is committed.
  void finish();
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int reason) const;
  void sync_directory() const;

  std::filesystem::path target_;  // as it was named
  std::filesystem::path place_;   // behind links
  bool is_stream_ = false;
  temporary_file temporary_;  // none once committed, and for a stream
  int fd_ = -1;
};

}  // namespace kselect::runtime
