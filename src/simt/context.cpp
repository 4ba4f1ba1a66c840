// Context switches by Boost.Context, annotated for the sanitizers.

#include "src/simt/context.hpp"

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
namespace {

namespace boost_context = boost::context::detail;

// Announces a switch away from the current stack. `fake` keeps ASan's shadow frames of the old
// stack; null if that stack is left for good.
KSELECT_OFF_THE_RECORD void announce([[maybe_unused]] void** fake,
                                     [[maybe_unused]] const void* bottom,
                                     [[maybe_unused]] std::size_t bytes,
                                     [[maybe_unused]] void* thread) {
#if defined(KSELECT_ASAN)
  __sanitizer_start_switch_fiber(fake, bottom, bytes);
#endif
#if defined(KSELECT_TSAN)
  __tsan_switch_to_fiber(thread, 0);
#endif
}

void arrived([[maybe_unused]] void* fake, [[maybe_unused]] const void** from_bottom,
             [[maybe_unused]] std::size_t* from_bytes) {
#if defined(KSELECT_ASAN)
  __sanitizer_finish_switch_fiber(fake, from_bottom, from_bytes);
#endif
}

}  // namespace

struct context::boost_entry {
  KSELECT_OFF_THE_RECORD static void run(boost_context::transfer_t from) {
    auto* const self = static_cast<context*>(from.data);
    self->outside_ = from.fctx;
    arrived(nullptr, &self->outside_bottom_, &self->outside_bytes_);
    self->entry_(self->argument_);
    self->leave();
  }
};

context::context() {
#if defined(KSELECT_TSAN)
  inside_thread_ = __tsan_create_fiber(0);
#endif
}

context::~context() {
#if defined(KSELECT_TSAN)
  __tsan_destroy_fiber(inside_thread_);
#endif
}

void context::prepare(std::byte* bottom, std::size_t bytes, void (*entry)(void*), void* argument) {
  bottom_ = bottom;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  inside_ = boost_context::make_fcontext(bottom + bytes, bytes, &boost_entry::run);
}

void context::resume() {
  void* fake = nullptr;
#if defined(KSELECT_TSAN)
  outside_thread_ = __tsan_get_current_fiber();
#endif
  announce(&fake, bottom_, bytes_, inside_thread_);
  inside_ = boost_context::jump_fcontext(inside_, this).fctx;
  arrived(fake, nullptr, nullptr);
}

void context::suspend() {
  announce(&inside_fake_, outside_bottom_, outside_bytes_, outside_thread_);
  outside_ = boost_context::jump_fcontext(outside_, nullptr).fctx;
  arrived(inside_fake_, &outside_bottom_, &outside_bytes_);
}

KSELECT_OFF_THE_RECORD void context::leave() {
  announce(nullptr, outside_bottom_, outside_bytes_, outside_thread_);
  boost_context::jump_fcontext(outside_, nullptr);
  __builtin_unreachable();
}

}  // namespace kselect::simt::detail
