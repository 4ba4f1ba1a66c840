#pragma once
// One suspended flow of control on a stack of its own, and the jump in and out of it, told to
// AddressSanitizer and ThreadSanitizer: without the annotations they take a fiber's stack for wild
// memory, and the hand-over between fibers for a race.
//
// Boost.Context's fcontext is used below its `fiber` class, which Debian builds without
// annotations.

#include <cstddef>
#include <cstdint>

namespace kselect::simt::detail {

class context {
 public:
  context();
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Prepares entry(argument) on the stack; it starts at the first resume. When it returns, so does
  // the resume under way, and the context may be prepared again.
  void prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument);

  // From outside: runs it until it suspends or ends.
  void resume();
  // From inside: returns to the resume that is under way.
  void suspend();

 private:
  [[noreturn]] void leave();

  struct boost_entry;  // what the first jump lands in

  void* inside_ = nullptr;   // where it goes on
  void* outside_ = nullptr;  // where the resume under way goes on
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::byte* bottom_ = nullptr;
  std::size_t bytes_ = 0;

  // For the sanitizers; unused otherwise.
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
  void* inside_fake_ = nullptr;
  void* inside_thread_ = nullptr;
  void* outside_thread_ = nullptr;
};

}  // namespace kselect::simt::detail
