#include "runtime/io/temporary_file.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <unistd.h>
#include <utility>

namespace kselect::runtime {
namespace {

// Paths for the signal handler, which may only read atomics and unlink. A file beyond the table is
// removed by its destructor alone.
constexpr int most_files = 64;
constexpr std::size_t longest_path = 4096;
struct removed_file {
  std::atomic<int> state = 0;  // 0 free, 1 being written, 2 to be removed
  std::array<char, longest_path> path;
};
std::array<removed_file, most_files> removed_files;

void remove_all(int signal) {
  for (removed_file& file : removed_files) {
    if (file.state == 2) ::unlink(file.path.data());
  }
  // The default effect, which the flag of the handler restored, once this handler returns.
  std::raise(signal);
}

void install_handlers() {
  static const bool installed = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction before {};
      sigaction(signal, nullptr, &before);
      if (before.sa_handler != SIG_DFL) continue;
      struct sigaction ours {};
      ours.sa_handler = remove_all;
      ours.sa_flags = SA_RESETHAND;
      sigaction(signal, &ours, nullptr);
    }
    return true;
  }();
  static_cast<void>(installed);
}

int enter(const std::filesystem::path& file) {
  install_handlers();
  if (file.native().size() >= longest_path) return -1;
  for (int i = 0; i < most_files; ++i) {
    removed_file& place = removed_files[static_cast<std::size_t>(i)];
    int free = 0;
    if (!place.state.compare_exchange_strong(free, 1)) continue;
    place.path.fill('\0');
    file.native().copy(place.path.data(), longest_path - 1);
    place.state = 2;
    return i;
  }
  return -1;
}

}  // namespace

temporary_file::temporary_file(std::filesystem::path path)
    : path_(std::move(path)), place_(enter(path_)) {}

temporary_file::temporary_file(temporary_file&& other) noexcept
    : path_(std::exchange(other.path_, {})), place_(std::exchange(other.place_, -1)) {}

temporary_file& temporary_file::operator=(temporary_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(place_, other.place_);
  return *this;
}

void temporary_file::remove() {
  if (!path_.empty()) ::unlink(path_.c_str());
  keep();
}

void temporary_file::keep() {
  if (place_ >= 0) removed_files[static_cast<std::size_t>(place_)].state = 0;
  place_ = -1;
  path_.clear();
}

}  // namespace kselect::runtime
