#include "harness/run/progress_page.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const char* what) {
  throw error(failure::resources, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

progress_page::progress_page() : descriptor_(memfd_create("kselect-progress", MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail("memfd_create");
  if (ftruncate(descriptor_, sizeof(contents)) != 0) fail("ftruncate");
  map();
  resting();
}

progress_page::progress_page(int descriptor) : descriptor_(descriptor) { map(); }

progress_page::~progress_page() {
  munmap(shared_, sizeof(contents));
  close(descriptor_);
}

void progress_page::map() {
  void* const memory =
      mmap(nullptr, sizeof(contents), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) fail("mmap");
  shared_ = static_cast<contents*>(memory);
}

void progress_page::running(std::int32_t cell) {
  shared_->since_ns.store(steady_ns());
  shared_->cell.store(cell);
}

void progress_page::resting() { shared_->cell.store(-1); }

progress_page::state progress_page::now() const {
  return {shared_->cell.load(), static_cast<double>(steady_ns() - shared_->since_ns.load()) * 1e-9};
}

}  // namespace kselect::harness
