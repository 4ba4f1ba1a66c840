// Guarded stacks by mmap, cached between launches.

#include "src/simt/stacks.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace kselect::simt::detail {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// The stacks of a warp begin at different places of a page. A cache keeps few lines that have the
// same place in a page, so stacks that begin alike would evict each other at every turn.
std::size_t start_in_page(int i) { return static_cast<std::size_t>(i % 32) * (page_bytes() / 32); }

std::mutex idle_mutex;
std::vector<std::unique_ptr<stack_set>>& idle_sets() {
  static std::vector<std::unique_ptr<stack_set>> sets;
  return sets;
}

}  // namespace

stack_set::stack_set(int count, std::size_t bytes)
    : count_(count), bytes_(bytes), stride_(bytes + 2 * page_bytes()) {
  void* const mapped = mmap(nullptr, stride_ * static_cast<std::size_t>(count), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  start_ = static_cast<std::byte*>(mapped);
  for (int i = 0; i < count; ++i) {
    if (mprotect(bottom(i), bytes_ + page_bytes(), PROT_READ | PROT_WRITE) != 0) {
      munmap(start_, stride_ * static_cast<std::size_t>(count));
      throw std::bad_alloc();
    }
  }
}

stack_set::~stack_set() { munmap(start_, stride_ * static_cast<std::size_t>(count_)); }

std::byte* stack_set::bottom(int i) const {
  return start_ + stride_ * static_cast<std::size_t>(i) + page_bytes();
}

std::byte* stack_set::top(int i) const { return bottom(i) + bytes_ + start_in_page(i); }

void return_stacks::operator()(stack_set* set) const {
  std::unique_ptr<stack_set> owned(set);
  const std::lock_guard lock(idle_mutex);
  idle_sets().push_back(std::move(owned));
}

borrowed_stacks borrow_stacks(int count, std::size_t bytes) {
  const std::size_t rounded = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  const std::lock_guard lock(idle_mutex);
  auto& idle = idle_sets();
  const auto fitting = std::ranges::find_if(
      idle, [&](const auto& set) { return set->bytes() == rounded && set->count() >= count; });
  if (fitting == idle.end()) return borrowed_stacks(new stack_set(count, rounded));
  borrowed_stacks taken(fitting->release());
  idle.erase(fitting);
  return taken;
}

}  // namespace kselect::simt::detail
