// The lifecycle of a block: its lanes start, take turns, and end or are unwound.

#include "src/simt/block.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace kselect::simt::detail {
namespace {

std::uint64_t collective(lane& self, const collective_call& call, std::source_location at) {
  return self.owner->meet(self, call, at);
}

void sync_block(lane& self, std::source_location at) { self.owner->meet_block(self, at); }

void bad_access(lane& self, const access& a, std::source_location at) {
  const auto address = reinterpret_cast<std::uintptr_t>(a.base);
  if (address % a.alignment != 0) {
    self.owner->fail(self,
                     std::string(a.verb) + " from memory that is not aligned to the " +
                         std::to_string(a.alignment) + " bytes of its elements",
                     at);
  }
  const std::string elements =
      a.count == 1 ? "element " + std::to_string(a.index)
                   : std::to_string(a.count) + " elements from " + std::to_string(a.index) + " on";
  self.owner->fail(self,
                   std::string(a.verb) + " of " + elements + " of " + std::to_string(a.size) +
                       " is out of bounds",
                   at);
}

template <class T>
std::uint64_t apply(const atomic_call& call) {
  const std::atomic_ref<T> where(*static_cast<T*>(call.address));
  const auto operand = static_cast<T>(call.operand);
  T before = where.load(std::memory_order_relaxed);
  const auto after = [&] {
    if (call.op == atomic_op::add) {
      using wrapping = std::make_unsigned_t<T>;  // unsigned: sums wrap, as on a GPU
      return static_cast<T>(static_cast<wrapping>(before) + static_cast<wrapping>(operand));
    }
    return call.op == atomic_op::min ? std::min(before, operand) : std::max(before, operand);
  };
  while (!where.compare_exchange_weak(before, after(), std::memory_order_relaxed)) {
  }
  return static_cast<std::uint64_t>(before);
}

std::uint64_t atomic(lane& self, const atomic_call& call, std::source_location at) {
  if (reinterpret_cast<std::uintptr_t>(call.address) % static_cast<unsigned>(call.bytes) != 0) {
    self.owner->fail(self, "an atomic on memory that is not aligned to its own size", at);
  }
  self.owner->step_back(self);
  self.owner->count(counter::atomics);
  if (call.bytes == 4) {
    return call.is_signed ? apply<std::int32_t>(call) : apply<std::uint32_t>(call);
  }
  return call.is_signed ? apply<std::int64_t>(call) : apply<std::uint64_t>(call);
}

void count_at(places& by_place, counter c, std::int64_t place, std::int64_t amount) {
  by_place.add(c, place, amount);
}

void count_step(lane& self, counter c) { self.owner->count_step(self, c); }

void wait_for_previous(lane& self, std::source_location at) {
  self.owner->wait_for_previous(self, at);
}

void early_write(lane& self, std::source_location at) {
  self.owner->fail(self,
                   "global memory is written before wait_for_previous in a launch that overlaps "
                   "the previous one",
                   at);
}

void wrong_await(lane& self, std::source_location at) { self.owner->wrong_await(self, at); }

constexpr runtime verbs = {collective,  sync_block,  atomic,   bad_access, wait_for_previous,
                           early_write, wrong_await, count_at, count_step};

}  // namespace

constinit thread_local lane* block::running = nullptr;

void assertion_failed(const char* condition, std::source_location at) {
  const std::string what = std::string("KSELECT_ASSERT(") + condition + ") does not hold";
  if (block::running == nullptr) throw std::logic_error(what + " at " + site_text(at));
  block::running->owner->fail(*block::running, what, at);
}

block::block(const fiber_kernel& kernel, const grid& shape, const void* args,
             const fiber_options& options, const stack_set& stacks)
    : kernel_(kernel),
      shape_(shape),
      args_(args),
      options_(options),
      stacks_(stacks),
      shared_(kernel.storage_bytes, shape.dynamic_shared_bytes),
      lanes_(static_cast<std::size_t>(shape.threads)),
      groups_(static_cast<std::size_t>(shape.threads / warp_size)),
      counted_steps_(groups_.size()) {
  for (int thread = 0; thread < shape.threads; ++thread) {
    lane& self = lanes_[static_cast<std::size_t>(thread)];
    self.owner = this;
    self.thread = thread;
  }
}

std::optional<std::string> block::run(std::int64_t index) {
  start(index);
  while (!error_) {
    const int thread = ready_.next();
    if (thread < 0) break;
    resume(lanes_[static_cast<std::size_t>(thread)]);
  }
  if (!error_ && returned_ < shape_.threads) error_ = stuck();
  if (!error_ && !previous_ended_) {
    error_ = place(lanes_.front()) +
             ": the launch overlaps the previous one, and no thread of the block called "
             "wait_for_previous";
  }
  if (error_) unwind();
  counts_.add(counter::blocks, 1);
  counts_.add(counter::threads, shape_.threads);
  return std::exchange(error_, std::nullopt);
}

void block::start(std::int64_t index) {
  index_ = index;
  returned_ = 0;
  generation_ = 0;
  unwinding_ = false;
  previous_ended_ = !shape_.overlaps_previous;
  barriers_.clear();
  for (auto& groups : groups_) groups.clear();
  for (auto& counted : counted_steps_) counted = 0;
  ready_.restart(options_.order, options_.seed, index);
  shared_.poison();
  for (lane& self : lanes_) {
    self.state = lane_state::running;
    self.flow.prepare(stacks_.bottom(self.thread), stacks_.top(self.thread), &block::lane_main,
                      &self, home_);
    ready_.add(self.warp(), self.bit());
  }
}

void block::lane_main(void* self) {
  lane& started = *static_cast<lane*>(self);
  started.owner->run_lane(started);
}

// Catches everything that the kernel throws, because an exception must not leave a fiber's first
// frame. No lane may be suspended inside a handler: the C++ runtime keeps caught exceptions per
// host thread.
void block::run_lane(lane& self) {
  try {
    if (!unwinding_) {
      fiber simt({self.thread, shape_.threads, index_, shape_.blocks, shared_.dynamic(), &counts_,
                  options_.places != nullptr ? &places_ : nullptr, &previous_ended_,
                  shape_.awaits_earlier_blocks, &self, &verbs});
      kernel_.run(simt, shared_.storage(), args_);
    }
  } catch (const unwound&) {
  } catch (const lane_error& e) {
    if (!error_) error_ = e.message;
  } catch (const std::exception& e) {
    if (!error_) error_ = place(self) + ": the kernel threw an exception: " + e.what();
  } catch (...) {
    if (!error_) error_ = place(self) + ": the kernel threw something that is no std::exception";
  }
  self.state = lane_state::returned;
  ++returned_;
  release_barriers();
}

void block::resume(lane& next) {
  home_.switch_to(turn_of(next));
  running = nullptr;
}

void block::step_back(lane& self) {
  ready_.step_back(self.thread);
  suspend(self);
}

// Empties every stack and runs the destructors: each unfinished lane is resumed once and throws at
// the point where it waits.
void block::unwind() {
  unwinding_ = true;
  for (lane& self : lanes_) {
    if (self.state != lane_state::returned) resume(self);
  }
}

void block::count_step(const lane& self, counter c) {
  static_assert(counter_count <= 32, "one bit a counter");
  std::uint32_t& counted = counted_steps_[static_cast<std::size_t>(self.warp())];
  const std::uint32_t bit = 1U << static_cast<unsigned>(c);
  if ((counted & bit) == 0) count(c);
  counted |= bit;
}

void block::wait_for_previous(const lane& self, std::source_location at) {
  if (!shape_.overlaps_previous) {
    fail(self,
         "wait_for_previous in a launch that does not overlap the previous one "
         "(grid::overlaps_previous)",
         at);
  }
  previous_ended_ = true;
}

void block::wrong_await(const lane& self, std::source_location at) {
  if (!shape_.awaits_earlier_blocks) {
    fail(self, "await in a launch without grid::awaits_earlier_blocks", at);
  }
  fail(self, "await of a message that no block before this one has posted", at);
}

void block::fail(const lane& self, const std::string& what, std::source_location at) {
  throw lane_error{place(self) + ": " + what + ", at " + site_text(at)};
}

}  // namespace kselect::simt::detail
