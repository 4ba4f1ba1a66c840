#pragma once
// One block of threads, run as fibers on one host thread.
//
// A verb suspends a lane at a rendezvous (a warp collective, sync_block) or before an atomic. Lanes
// at the same warp collective form a group, keyed by mask, operation and call site. A group
// completes when all lanes of its mask have arrived.
//
// Only one sign proves that a lane is missing and not just late: no lane of the block can run.
// Missing lanes, mixed call sites or operations, divergent barriers and deadlocks are all reported
// there, with the position of every lane (report.cpp).

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "kselect/simt/fiber.hpp"
#include "kselect/simt/products.hpp"
#include "src/simt/context.hpp"
#include "src/simt/ready_set.hpp"
#include "src/simt/shared_memory.hpp"
#include "src/simt/stacks.hpp"

namespace kselect::simt::detail {

class block;

enum class lane_state : std::uint8_t { running, waiting, returned };

class lane {
 public:
  block* owner = nullptr;
  int thread = 0;
  lane_state state = lane_state::running;
  collective_call call{};  // the rendezvous where it waits, or the last one
  std::source_location at;
  std::uint64_t result = 0;  // of the last collective
  context flow;

  int warp() const { return thread / warp_size; }
  int index() const { return thread % warp_size; }
  std::uint32_t bit() const { return 1U << index(); }
};

// The lanes of one warp at one rendezvous.
struct group {
  operation op;
  std::uint32_t mask;
  std::source_location at;
  std::uint32_t arrived;
};

// The threads of the block at one sync_block.
struct barrier {
  std::source_location at;
  int arrived;
};

// An error of a lane; the message is complete.
struct lane_error {
  std::string message;
};

// Unwinds the stack of a lane that will never resume. Not a std::exception, so that a kernel's
// handlers do not catch it.
struct unwound {};

class block {
 public:
  // The lane whose turn it is on the calling thread; null outside of lanes.
  static constinit thread_local lane* running;

  // `stacks` has one stack per thread. All arguments outlive the block.
  block(const fiber_kernel& kernel, const grid& shape, const void* args,
        const fiber_options& options, const stack_set& stacks);

  // Runs block `index` to its end. Returns the error, if any. Adds its work to counts() and, if the
  // options ask for it, to places().
  std::optional<std::string> run(std::int64_t index);
  const counters& counts() const { return counts_; }
  const simt::places& places() const { return places_; }

  // Called by lanes, on their own stacks.
  std::uint64_t meet(lane& self, const collective_call& call, std::source_location at);
  void meet_block(lane& self, std::source_location at);
  void step_back(lane& self);
  void count(counter c) { counts_.add(c, 1); }
  void count_step(const lane& self, counter c);
  void wait_for_previous(const lane& self, std::source_location at);
  [[noreturn]] void wrong_await(const lane& self, std::source_location at);
  [[noreturn]] void fail(const lane& self, const std::string& what, std::source_location at);

 private:
  static void lane_main(void* self);
  void run_lane(lane& self);
  void start(std::int64_t index);
  // The lane's turn begins with the switch to the context.
  context& turn_of(lane& next) {
    next.state = lane_state::running;
    running = &next;
    return next.flow;
  }
  void resume(lane& next);
  // The next lane's turn begins at once. run() has the turn only where no lane can run.
  void suspend(lane& self) {
    const int thread = unwinding_ ? -1 : ready_.next();
    context& next = thread < 0 ? home_ : turn_of(lanes_[static_cast<std::size_t>(thread)]);
    if (&next != &self.flow) self.flow.switch_to(next);
    if (unwinding_) throw unwound{};
  }
  void unwind();

  void check_call(const lane& self, const collective_call& call, std::source_location at);
  template <class Visit>
  void each_lane(int warp, std::uint32_t mask, const Visit& visit);
  void complete(int warp, const group& done);
  std::uint64_t shuffled(const lane& self, std::uint32_t mask);
  void multiply(int warp);        // products.cpp
  template <product factors>
  void multiply_by(int warp);
  void bring_matrices(int warp);  // products.cpp
  void release_barriers();
  std::uint32_t matching(const lane& self, std::uint32_t mask);
  std::uint32_t reduced(int warp, const group& done);
  std::uint32_t voted(int warp, const group& done);
  lane& lane_of(int warp, int index) {
    return lanes_[static_cast<std::size_t>(warp * warp_size + index)];
  }
  const lane& lane_of(int warp, int index) const {
    return lanes_[static_cast<std::size_t>(warp * warp_size + index)];
  }

  std::string place(const lane& self) const;  // "kernel k, block 3, warp 1, lane 5"
  std::string stuck() const;                  // why no lane can run, and where each lane waits
  std::string diagnosis() const;

  const fiber_kernel& kernel_;
  const grid shape_;
  const void* args_;
  const fiber_options& options_;
  const stack_set& stacks_;
  shared_memory shared_;
  counters counts_;
  simt::places places_;

  std::int64_t index_ = 0;
  context home_;  // where run() was called
  std::vector<lane> lanes_;
  std::vector<std::vector<group>> groups_;  // by warp
  // By warp: a bit for each counter that has counted a step since the last rendezvous.
  std::vector<std::uint32_t> counted_steps_;
  std::vector<barrier> barriers_;
  std::int64_t generation_ = 0;  // number of completed sync_blocks
  int returned_ = 0;
  ready_set ready_;
  bool unwinding_ = false;
  bool previous_ended_ = false;  // the block has waited for the previous launch
  std::optional<std::string> error_;
};

// The lane that a shuffle reads from, by the rules of PTX `shfl`: the calling lane itself if the
// source lies outside its segment of `width` lanes.
int shuffle_source(operation op, int lane, int argument, int width);

bool same_site(const std::source_location& a, const std::source_location& b);
std::string site_text(const std::source_location& at);    // "file.cu:12"
std::string call_text(operation op, std::uint32_t mask);  // "ballot(mask 0x0000ffff)"

}  // namespace kselect::simt::detail
