#pragma once
// One algorithm on one problem: its buffers, its runs, and the proof of its answer.
//
// A trial owns the outputs and the workspace, each between guard bands. It poisons the outputs
// before every run, so that an answer left over from an earlier run cannot pass. Sweeps, `select`,
// `knn` and the tests all use trials: only proven answers are returned or timed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/harness.hpp"
#include "harness/run/input_rows.hpp"
#include "kselect/algorithm.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

class trial {
 public:
  // Allocates the buffers. Throws error(failure::resources) if they do not fit,
  // error(failure::unsupported) if the algorithm does not support the problem.
  trial(const algorithm& entry, const problem& p, const input_rows& input, backend& place);
  // Leaves no answer in the memory that it frees: the next entry may be given that.
  ~trial();
  trial(trial&&) = delete;

  // Later runs read these rows, which must have the same shape.
  void use(const input_rows& input) { input_ = &input; }

  // Poisons the outputs and, for an algorithm that works in place, restores its input.
  void prepare();
  // Makes one call and waits for it. The time is by the backend's clock (backend::time).
  timed_run time(bool gapless = false);
  // The same by the host's clock: all the time that a caller waits.
  timed_run wall_time();
  // Makes `calls` calls back to back, each on the next of `inputs`. The time is the mean of one
  // call. Not for an algorithm that modifies its input: its second call would read what the first
  // left.
  timed_run time_batch(std::span<const input_rows* const> inputs, int calls, bool gapless);
  // The processor's own count around the last call on a host (runtime/backend/ticks.hpp).
  std::uint64_t ticks() const { return ticks_; }
  // One run without its time.
  status run() { return time().outcome; }

  // Removes rows, outputs and workspace from the caches.
  void evict();
  // Captures a call as a CUDA graph and replays it once (backend::capture).
  std::optional<graph_capture> capture();
  // The answer to one row, as it is now at the backend.
  void read_row(std::int64_t row, std::vector<std::byte>& values, std::vector<std::byte>& indices);
  // On a host: makes a call and looks again after `seconds`. What is wrong if the entry goes on
  // after it has returned: its outputs change or, unless it is `threaded`, another thread works.
  std::string works_later(double seconds);
  // Whether the outputs change although the backend's queue is held back for `seconds`.
  bool escapes_queue(double seconds);

  // Proves the last run's answer: certificate, guard bands, unchanged input. Empty if the proof
  // holds, else one line that says what is wrong. If the backend can (backend::proves_in_place), it
  // proves all rows. If a row fails there, the host repeats the proof and names the reason. If all
  // pass, the host proves one row again, unless rows are long. Throws error(failure::unsupported)
  // if backend and host disagree.
  std::string disprove();
  // The same, always on a host copy of the answer.
  std::string disprove_copy();
  // Whether the backend made the last proof.
  bool proven_in_place() const { return proven_in_place_; }

  // The host copy of the answer that disprove_copy() checked.
  std::span<const std::byte> values() const { return values_host_; }
  std::span<const std::byte> indices() const { return indices_host_; }
  std::size_t workspace_bytes() const { return workspace_.bytes; }

 private:
  // `bytes` usable bytes between two guard bands.
  struct guarded {
    device_buffer memory;
    std::size_t bytes = 0;
    std::byte* data() const;
  };
  guarded make_guarded(std::size_t bytes);
  void poison_output(const guarded& output);
  std::string damaged(const guarded& buffer, const char* name);
  std::string trespasses();
  void copy_answer();
  std::string refute_copy();
  std::string refute_row(std::int64_t row);
  [[noreturn]] void disagree(const std::string& what) const;
  io buffers() const;
  status guarded_call();
  std::function<status()> call();

  const algorithm& entry_;
  const problem problem_;
  call_plan plan_;
  const input_rows* input_;
  backend& place_;
  device_buffer own_input_;  // for an algorithm that modifies its input
  guarded values_, indices_, workspace_;
  std::vector<std::byte> poison_;  // one block, see poison_output
  std::vector<std::byte> values_host_,
      indices_host_;  // as large as what was last proven on the host
  bool proven_in_place_ = false;
  std::uint64_t ticks_ = 0;
};

}  // namespace kselect::harness
