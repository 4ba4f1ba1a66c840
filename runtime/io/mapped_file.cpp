// An empty file has no mapping, because mmap refuses length 0. Its span is empty.

#include "runtime/io/mapped_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

// A mapping that the handler of SIGBUS knows. The handler may run at any time on any thread, so it
// only reads atomics.
struct guarded {
  std::atomic<bool> taken = false, cut = false;
  std::atomic<std::uintptr_t> begin = 0, end = 0;
};
constexpr int most_mappings = 256;
std::array<guarded, most_mappings> mappings;
std::array<char, 4096> first_cut;  // the path; written once, by whoever finds the cut
std::array<std::array<char, 4096>, most_mappings>& paths() {
  static std::array<std::array<char, 4096>, most_mappings> of_mappings;
  return of_mappings;
}
std::atomic<bool> any_cut = false;
std::uintptr_t system_page_bytes = 4096;
struct sigaction before;

// Zeros in place of the lost pages and of all behind them.
void on_bus_error(int, siginfo_t* what, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(what->si_addr);
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const std::uintptr_t begin = mappings[i].begin, end = mappings[i].end;
    if (at < begin || at >= end) continue;
    const std::uintptr_t page = at / system_page_bytes * system_page_bytes;
    void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    mappings[i].cut = true;
    if (!any_cut.exchange(true)) std::strcpy(first_cut.data(), paths()[i].data());
    return;
  }
  sigaction(SIGBUS, &before, nullptr);  // not ours: the access fails again, as it did before
}

void install_handler() {
  static const bool installed = [] {
    system_page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    paths();
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &ours, &before) == 0;
  }();
  static_cast<void>(installed);
}

int guard(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  install_handler();
  for (int i = 0; i < most_mappings; ++i) {
    guarded& entry = mappings[static_cast<std::size_t>(i)];
    if (entry.taken.exchange(true)) continue;
    auto& path = paths()[static_cast<std::size_t>(i)];
    path.fill('\0');
    file.native().copy(path.data(), path.size() - 1);
    entry.cut = false;
    entry.begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    // `end` last: until then no address is in the range.
    entry.end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size());
    return i;
  }
  throw error(failure::resources, fmt::format("{}: more than {} files are mapped at once",
                                              file.string(), most_mappings));
}

void release(int place) {
  guarded& entry = mappings[static_cast<std::size_t>(place)];
  entry.end = 0;
  entry.begin = 0;
  entry.taken = false;
}

}  // namespace

mapped_file::mapped_file(input_file file) : file_(std::move(file)) {
  const auto size = static_cast<std::size_t>(file_.identity().bytes);
  if (size == 0) return;
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.descriptor(), 0);
  if (start == MAP_FAILED && errno == ENOMEM) {
    throw error(failure::resources,
                fmt::format("{}: its {} bytes do not fit the address space; raise `ulimit -v`",
                            file_.path().string(), size));
  }
  if (start == MAP_FAILED) {
    fail_input(file_.path(), fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(start), size};
  try {
    guard_ = guard(file_.path(), bytes_);
  } catch (...) {
    ::munmap(start, size);
    throw;
  }
}

mapped_file mapped_file::open(const std::filesystem::path& file) {
  return mapped_file(input_file::open(file));
}

mapped_file mapped_file::open_or_collect(const std::filesystem::path& file,
                                         stream_content content) {
  return mapped_file(input_file::open_or_collect(file, content));
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : file_(std::move(other.file_)),
      bytes_(std::exchange(other.bytes_, {})),
      guard_(std::exchange(other.guard_, -1)) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_, other.guard_);
  return *this;
}

mapped_file::~mapped_file() {
  if (bytes_.empty()) return;
  release(guard_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void mapped_file::require_unchanged() const {
  if (guard_ >= 0 && mappings[static_cast<std::size_t>(guard_)].cut) {
    throw error(failure::input, cut_message(file_.path().string()));
  }
  file_.require_unchanged();
}

std::string mapped_file::cut_file() { return any_cut ? first_cut.data() : ""; }

std::string cut_message(const std::string& file) {
  return fmt::format(
      "{}: another process cut it while it was read; run again when nothing writes "
      "to it",
      file);
}

}  // namespace kselect::runtime
