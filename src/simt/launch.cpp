// A launch: its checks, and the distribution of its blocks over host threads.

#include "kselect/simt/launch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "kselect/plugin.hpp"
#include "kselect/simt/launch_notes.hpp"
#include "kselect/simt/shared_fit.hpp"
#include "src/simt/block.hpp"

namespace kselect::simt {
namespace {

thread_local launch_notes* notes = nullptr;

}  // namespace

void detail::note_launches_in(launch_notes* in) { notes = in; }

launch_notes::launch_notes() { notes = this; }
launch_notes::~launch_notes() { notes = nullptr; }

namespace detail {
namespace {

status failed(const std::string& kernel, const std::string& what) {
  return {status_code::failed, "kernel " + kernel + ": " + what};
}

// The order of blocks. Random uses a stride coprime to the count, which visits each block once.
class block_order {
 public:
  block_order(const fiber_options& options, const grid& shape)
      : order_(shape.awaits_earlier_blocks ? schedule::in_order : options.order),
        blocks_(shape.blocks) {
    if (order_ != schedule::random) return;
    random_bits random(options.seed);
    const auto limit = static_cast<std::uint64_t>(blocks_);
    first_ = static_cast<std::int64_t>(random.next() % limit);
    do {
      stride_ = static_cast<std::int64_t>(1 + random.next() % limit);
    } while (std::gcd(stride_, blocks_) != 1);
  }
  std::int64_t operator[](std::int64_t turn) const {
    if (order_ == schedule::in_order) return turn;
    if (order_ == schedule::reversed) return blocks_ - 1 - turn;
    return (first_ + turn * stride_) % blocks_;  // both below 2^31: no overflow
  }

 private:
  schedule order_;
  std::int64_t blocks_;
  std::int64_t first_ = 0;
  std::int64_t stride_ = 1;
};

// Hands out blocks one at a time, and none after an error. Blocks handed out before run to their
// end, so the reported error (that of the earliest turn) does not depend on the number of threads.
class launch_state {
 public:
  explicit launch_state(std::int64_t blocks) : blocks_(blocks), error_turn_(blocks) {}

  std::int64_t take() {
    if (stopped_.load(std::memory_order_relaxed)) return -1;
    const std::int64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    return turn < blocks_ ? turn : -1;
  }
  void record(std::int64_t turn, status_code code, std::string message) {
    stopped_ = true;
    const std::lock_guard lock(mutex_);
    if (turn >= error_turn_) return;
    error_turn_ = turn;
    error_ = {code, std::move(message)};
  }
  void finish(const block& fibers) {
    const std::lock_guard lock(mutex_);
    counts_ += fibers.counts();
    places_ += fibers.places();
  }
  const status& outcome() const { return error_; }
  const counters& counts() const { return counts_; }
  const simt::places& places() const { return places_; }

 private:
  std::int64_t blocks_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::int64_t error_turn_;
  status error_;
  counters counts_;
  simt::places places_;
};

void run_blocks(block& fibers, const block_order& order, launch_state& state) {
  for (std::int64_t turn = state.take(); turn >= 0; turn = state.take()) {
    if (auto error = fibers.run(order[turn])) {
      state.record(turn, status_code::failed, std::move(*error));
    }
  }
  state.finish(fibers);
}

status run_all(const fiber_kernel& kernel, const grid& shape, const void* args,
               const fiber_options& options, int host_threads) {
  const block_order order(options, shape);
  launch_state state(shape.blocks);
  std::vector<borrowed_stacks> stacks;
  std::vector<std::unique_ptr<block>> blocks;
  for (int i = 0; i < host_threads; ++i) {
    stacks.push_back(borrow_stacks(shape.threads, options.stack_bytes));
    blocks.push_back(std::make_unique<block>(kernel, shape, args, options, *stacks.back()));
  }
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      others.emplace_back([&, i] { run_blocks(*blocks[i], order, state); });
    }
    run_blocks(*blocks.front(), order, state);
  }
  if (state.outcome().ok()) {
    if (options.counters != nullptr) *options.counters += state.counts();
    if (options.places != nullptr) *options.places += state.places();
  }
  return state.outcome();
}

}  // namespace

std::string readable_name(const std::type_info& kernel) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(kernel.name(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 ? name.get() : kernel.name();
}

status check_grid(const std::string& kernel, const grid& shape, int max_threads) {
  if (shape.blocks < 1 || shape.blocks > block_limit) {
    return failed(kernel, std::to_string(shape.blocks) + " blocks: a grid has 1 to 2147483647");
  }
  if (shape.threads < warp_size || shape.threads % warp_size != 0 || shape.threads > max_threads) {
    return failed(kernel, std::to_string(shape.threads) +
                              " threads: a block of this kernel has a multiple of 32 up to " +
                              std::to_string(max_threads));
  }
  return {};
}

status not_compiled_for(const std::string& kernel, executor_kind kind) {
  const std::string name = "kernel " + kernel;
  if (kind == executor_kind::cpu) {
    return {status_code::unsupported, name + " runs on fiber or cuda, not on cpu"};
  }
  if (kind == executor_kind::cuda && !KSELECT_HAS_CUDA) {
    return {status_code::unsupported, name + ": this build has no CUDA"};
  }
  return {status_code::unsupported,
          name + " is not compiled for executor " + std::string(to_string(kind))};
}

status check_shared(const std::string& kernel, std::size_t storage, const grid& shape,
                    const device& where) {
  const std::size_t asked = storage + shape.dynamic_shared_bytes;
  if (has_shared(where, asked)) return {};
  return failed(kernel, std::to_string(asked) + " bytes of shared memory: a block has " +
                            std::to_string(where.shared_bytes) + " on this device");
}

bool note_launch(const std::string& kernel, const grid& shape) {
  if (notes == nullptr) return false;
  notes->launches.push_back({kernel, shape});
  return true;
}

status launch_on_fibers(const fiber_kernel& kernel, const grid& shape, const void* args,
                        const executor& where) {
  const fiber_options options = where.fiber != nullptr ? *where.fiber : fiber_options{};
  if (options.stack_bytes < stack_limit) {
    return failed(kernel.name, "fiber_options.stack_bytes is " +
                                   std::to_string(options.stack_bytes) +
                                   ": a lane needs at least " + std::to_string(stack_limit));
  }
  const int wanted = options.host_threads > 0 ? options.host_threads : where.device->threads;
  const std::int64_t at_once = shape.awaits_earlier_blocks ? 1 : shape.blocks;
  const auto host_threads = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, at_once));
  try {
    return run_all(kernel, shape, args, options, host_threads);
  } catch (const std::bad_alloc&) {
    return {status_code::out_of_memory,
            std::string("kernel ") + kernel.name + ": no memory for the stacks of " +
                std::to_string(shape.threads) + " lanes on each of " +
                std::to_string(host_threads) + " host threads; use fewer host threads"};
  } catch (const std::system_error& e) {
    return failed(kernel.name, std::string("cannot start a host thread: ") + e.what());
  }
}

}  // namespace detail
}  // namespace kselect::simt
