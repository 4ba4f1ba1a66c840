#pragma once
// An execution with its own stack, and the switch from one to another. Switches are annotated for
// AddressSanitizer, which would report a fiber's stack as a wild access, and for ThreadSanitizer,
// which would report the hand-over between fibers as a race.
//
// It uses Boost.Context's fcontext, because Debian builds Boost's `fiber` class without
// annotations. The switch is inline: Boost leaves a stack by a jump, after which the processor
// predicts each return of the functions around it wrongly.

#include <cstddef>
#include <cstdint>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define KSELECT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KSELECT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define KSELECT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KSELECT_TSAN 1
#endif
#endif

#if defined(KSELECT_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
// TSan keeps a call stack per fiber. It must not see a function that is entered on one fiber and
// left on another, or never left.
#if defined(KSELECT_TSAN)
#include <sanitizer/tsan_interface.h>
#define KSELECT_OFF_THE_RECORD __attribute__((no_sanitize("thread")))
#else
#define KSELECT_OFF_THE_RECORD
#endif

namespace kselect::simt::detail {

namespace boost_context = boost::context::detail;

class context {
 public:
  context() = default;
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Prepares entry(argument) on the stack, which begins at `top` and ends at `bottom`. It starts at
  // the first switch to this context. When entry returns, the thread goes on in `after`, and this
  // context may be prepared again.
  void prepare(std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument,
               context& after);

  // Leaves this context, where the calling thread runs, and goes on in `next`. Returns when another
  // context of the thread switches back. A context that was never prepared is the thread's own
  // stack.
  void switch_to(context& next) {
    void* fake = nullptr;
#if defined(KSELECT_TSAN)
    thread_ = __tsan_get_current_fiber();
#endif
    next.announce(&fake);
    next_ = &next;
    take(boost_context::jump_fcontext(next.place_, this), fake);
  }

 private:
  struct boost_entry;  // target of the first jump

  // Announces a switch to this context. `fake` keeps ASan's shadow frames of the stack that is
  // left; null if it is left for good.
  KSELECT_OFF_THE_RECORD void announce([[maybe_unused]] void** fake) const {
#if defined(KSELECT_ASAN)
    __sanitizer_start_switch_fiber(fake, bottom_, bytes_);
#endif
#if defined(KSELECT_TSAN)
    __tsan_switch_to_fiber(thread_, 0);
#endif
  }

  // Called first on the stack that is entered. A jump carries the context that was left. ASan tells
  // the bounds of that context's stack: nothing else tells those of the thread's own.
  static context& take(boost_context::transfer_t jump, [[maybe_unused]] void* fake) {
    context& from = *static_cast<context*>(jump.data);
    from.place_ = jump.fctx;
#if defined(KSELECT_ASAN)
    __sanitizer_finish_switch_fiber(fake, &from.bottom_, &from.bytes_);
#endif
    return *from.next_;
  }

  [[noreturn]] void leave();

  void* place_ = nullptr;  // where the context continues
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  context* after_ = nullptr;  // null: the thread's own stack
  context* next_ = nullptr;  // entered when this one was left

  // For the sanitizers; otherwise unused.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* thread_ = nullptr;
};

}  // namespace kselect::simt::detail
