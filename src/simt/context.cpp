// Contexts begin and end on a stack of their own.

#include "src/simt/context.hpp"

namespace kselect::simt::detail {

struct context::boost_entry {
  KSELECT_OFF_THE_RECORD static void run(boost_context::transfer_t jump) {
    context& self = take(jump, nullptr);
    self.entry_(self.argument_);
    self.leave();
  }
};

context::~context() {
#if defined(KSELECT_TSAN)
  if (after_ != nullptr) __tsan_destroy_fiber(thread_);
#endif
}

void context::prepare(std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument,
                      context& after) {
#if defined(KSELECT_TSAN)
  if (after_ == nullptr) thread_ = __tsan_create_fiber(0);
#endif
  bottom_ = bottom;
  bytes_ = static_cast<std::size_t>(top - bottom);
  entry_ = entry;
  argument_ = argument;
  after_ = &after;
  place_ = boost_context::make_fcontext(top, bytes_, &boost_entry::run);
}

// It has no variables: ASan would never learn that their frame has ended, and would report the next
// use of the stack.
KSELECT_OFF_THE_RECORD void context::leave() {
  next_ = after_;
  after_->announce(nullptr);
  boost_context::jump_fcontext(after_->place_, this);
  __builtin_unreachable();
}

}  // namespace kselect::simt::detail
