#pragma once
// What all targets share: the rule that an input ends in an answer or in a documented error, and a
// file that holds the input.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "runtime/error.hpp"

namespace kselect::fuzz {

inline void require(bool holds, const char* what, const std::string& about) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, about.c_str());
  std::abort();
}

// Runs a reader. The program answers an error, a lack of memory and an unusable folder with a code
// of docs/reference/exit-codes.md. It answers every other exception with 70, so one that escapes
// from here ends the target. True if the reader accepted the input.
template <class Read>
bool ends_documented(const Read& read) {
  try {
    read();
    return true;
  } catch (const runtime::error& why) {
    const int code = why.exit_code();
    require((code >= 1 && code <= 7) || code == 130, "an undocumented exit code", why.what());
    require(why.what()[0] != '\0', "an error says nothing", std::to_string(code));
  } catch (const std::bad_alloc&) {                     // code 5
  } catch (const std::filesystem::filesystem_error&) {  // code 6
  }
  return false;
}

// A folder of this process, in memory where the system has such a place.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    const char* const shared = "/dev/shm";
    std::filesystem::path at = std::filesystem::is_directory(shared)
                                   ? std::filesystem::path(shared)
                                   : std::filesystem::temp_directory_path();
    at /= "kselect-fuzz-" + std::to_string(getpid());
    std::filesystem::create_directories(at);
    std::atexit([] {
      std::error_code gone;
      std::filesystem::remove_all(folder(), gone);
    });
    return at;
  }();
  return made;
}

// The file of that name in the folder, with these bytes.
inline std::filesystem::path file_with(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = folder() / name;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  require(file >= 0 && write(file, bytes.data(), bytes.size()) == std::ssize(bytes), "cannot write",
          path.string());
  close(file);
  return path;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace kselect::fuzz
