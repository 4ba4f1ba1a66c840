#pragma once
// One algorithm on one problem: its buffers, its runs, and the proof of its answer.
//
// A trial owns the outputs and the workspace, each between guard bands, and poisons the outputs
// before every run, so that an answer left over from an earlier run can never pass. Sweeps,
// `select`, `knn` and the tests all go through it: nothing is ever returned or timed that was not
// proven.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/harness.hpp"
#include "kselect/algorithm.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/backend/host_memory.hpp"

namespace kselect::harness {

// The rows of a problem on the host and where algorithms can reach them; shared by many trials.
class input_rows {
 public:
  // `host` holds problem.input_bytes() bytes and must outlive this object.
  input_rows(backend& place, std::span<const std::byte> host);
  // Rows that already lie at `device` in the backend's memory, with a copy of them on the host to
  // prove answers against.
  static input_rows at(backend& place, std::span<const std::byte> host, const std::byte* device);
  // Rows that were made at `device`, in a place that proves answers there: the host gets a copy
  // only when it is asked for.
  static input_rows made_at(backend& place, const std::byte* device, std::size_t bytes);

  std::size_t bytes() const { return bytes_; }
  // Throws error(failure::resources) if a copy has no room, and error(failure::unsupported) if it
  // is not what was made.
  std::span<const std::byte> host() const;
  const std::byte* device() const { return device_; }
  // Copies rows that were made at the backend to the host, whether or not they are there; by the
  // backend's clock.
  timed_run time_to_host() const;
  // Whether the bytes at the backend are still the ones given.
  bool unchanged() const;

 private:
  input_rows(backend& place, std::span<const std::byte> host, const std::byte* device);
  input_rows(backend& place, const std::byte* device, std::size_t bytes);
  std::uint64_t hash_of(std::span<const std::byte> host) const;

  backend* place_;
  std::size_t bytes_;
  mutable host_buffer host_copy_;            // of rows that were made at the backend
  mutable std::span<const std::byte> host_;  // empty until there is that copy
  device_buffer copy_;                       // empty where the backend reads host memory
  const std::byte* device_;
  std::uint64_t hash_;
};

class trial {
 public:
  // Allocates; throws error(failure::resources) when that fails and error(failure::unsupported)
  // when the algorithm's declaration excludes the problem.
  trial(const algorithm& entry, const problem& p, const input_rows& input, backend& place);

  // The next runs work on these rows of the same shape.
  void use(const input_rows& input) { input_ = &input; }

  // Poisons the outputs and, for an algorithm that works in place, restores its input.
  void prepare();
  // Enqueues, waits, and tells the time it took by the backend's clock (backend::time).
  timed_run time(bool gapless = false);
  // The same by the host's clock, with all that a caller waits for.
  timed_run wall_time();
  // `calls` calls back to back, each on the next of these rows: the time of one, on average. Not
  // for an algorithm that works in place, whose second call would find what the first left.
  timed_run time_batch(std::span<const input_rows* const> inputs, int calls, bool gapless);
  // The same where the time does not matter.
  status run() { return time().outcome; }

  // Removes rows, outputs and workspace from the caches.
  void evict();
  // Records a call as a graph and replays that once (backend::capture).
  std::optional<graph_capture> capture();
  // Whether the outputs are written although the backend's queue is held back for so long.
  bool escapes_queue(double seconds);

  // The proof of the last run's answer (certificate, guard bands, untouched input): empty when it
  // holds, else one line that says what is wrong. Where the backend can (backend::proves_in_place),
  // all rows are proven there; what fails there is looked at again on the host, which says why, and
  // one row of what passed, if it is not long, is proven a second time on the host. Throws
  // error(failure::unsupported) if the two certificates disagree.
  std::string disprove();
  // The same on a copy of the answer on the host.
  std::string disprove_copy();
  // Whether the last proof was made without that copy.
  bool proven_in_place() const { return proven_in_place_; }

  // The copy that disprove_copy() looked at.
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
  std::string refute_copy();
  std::string refute_row(std::int64_t row);
  [[noreturn]] void disagree(const std::string& what) const;
  io buffers() const;
  std::function<status()> call();

  const algorithm& entry_;
  const problem problem_;
  const input_rows* input_;
  backend& place_;
  device_buffer own_input_;  // of an algorithm that works in place
  guarded values_, indices_, workspace_;
  std::vector<std::byte> poison_;  // a block of it, see poison_output
  std::vector<std::byte> values_host_,
      indices_host_;  // as large as what was last proven on the host
  bool proven_in_place_ = false;
};

}  // namespace kselect::harness
