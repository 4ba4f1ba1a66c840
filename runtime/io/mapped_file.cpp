// An empty file has no mapping, because mmap refuses length 0. Its span is empty.

#include "runtime/io/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int reason) {
  throw error(failure::input,
              fmt::format("{}: cannot be read: {}", file.string(), std::strerror(reason)));
}

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

mapped_file mapped_file::open(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang. Regular files ignore it.
  const descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) fail(file, errno);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) fail(file, errno);
  if (!S_ISREG(status.st_mode)) {
    throw error(failure::input, fmt::format("{}: is not a regular file; inputs are mapped, so "
                                            "copy a pipe or device to a file first",
                                            file.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return mapped_file({});
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (start == MAP_FAILED) fail(file, errno);
  return mapped_file({static_cast<const std::byte*>(start), size});
}

mapped_file::mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

mapped_file::~mapped_file() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace kselect::runtime
