#pragma once
// The stacks of one block's fibers, in one mapping. An inaccessible page below each stack makes an
// overflow fault at once. Stack sets are cached, because mapping a thousand guarded stacks costs
// more than running a small kernel.

#include <cstddef>
#include <memory>

namespace kselect::simt::detail {

class stack_set {
 public:
  // `count` stacks of `bytes`, a multiple of the page size. Throws std::bad_alloc if the system
  // refuses the memory or the number of mappings.
  stack_set(int count, std::size_t bytes);
  ~stack_set();
  stack_set(const stack_set&) = delete;
  stack_set& operator=(const stack_set&) = delete;

  int count() const { return count_; }
  std::size_t bytes() const { return bytes_; }
  std::byte* bottom(int i) const;  // the lowest usable byte; the guard page ends here
  std::byte* top(int i) const;     // `bytes` and more above it: where the stack begins

 private:
  int count_;
  std::size_t bytes_;
  std::size_t stride_;
  std::byte* start_;
};

struct return_stacks {
  void operator()(stack_set*) const;  // keeps the set for the next launch
};
using borrowed_stacks = std::unique_ptr<stack_set, return_stacks>;

// At least `count` stacks of at least `bytes`; throws std::bad_alloc.
borrowed_stacks borrow_stacks(int count, std::size_t bytes);

}  // namespace kselect::simt::detail
