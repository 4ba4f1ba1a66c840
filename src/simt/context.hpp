#pragma once
// A suspended execution with its own stack, and the switches in and out of it. The switches are
// annotated for AddressSanitizer, which would report a fiber's stack as a wild access, and for
// ThreadSanitizer, which would report the hand-over between fibers as a race.
//
// It uses Boost.Context's fcontext, because Debian builds Boost's `fiber` class without
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

  // Prepares entry(argument) on the stack. It starts at the first resume. When entry returns, the
  // current resume returns too, and the context may be prepared again.
  void prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument);

  // From outside: runs the context until it suspends or ends.
  void resume();
  // From inside: returns to the caller of resume.
  void suspend();

 private:
  [[noreturn]] void leave();

  struct boost_entry;  // target of the first jump

  void* inside_ = nullptr;   // where the context continues
  void* outside_ = nullptr;  // where the caller of resume continues
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::byte* bottom_ = nullptr;
  std::size_t bytes_ = 0;

  // For the sanitizers; otherwise unused.
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
  void* inside_fake_ = nullptr;
  void* inside_thread_ = nullptr;
  void* outside_thread_ = nullptr;
};

}  // namespace kselect::simt::detail
