#pragma once
// The cells of a sweep: algorithm, problem, executor and key of each. All are counted, and so
// checked, before the first cell runs; each is made when its turn comes.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/harness.hpp"
#include "harness/plan/input.hpp"
#include "harness/task/task.hpp"
#include "kselect/registry.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// How a cell ended or will end. Only `ok` cells have a time.
enum class cell_status : std::uint8_t {
  ok,
  wrong,          // the answer failed its certificate
  unsupported,    // not possible for the algorithm, executor or machine; the reason says why
  out_of_memory,  // needs more memory than there is
  timeout,
  error,       // the algorithm or its kernel failed
  throttled,   // the clock fell during the measurement
  implausible  // faster than memory can move the bytes
};
constexpr auto names_of(cell_status) {
  return std::to_array<named<cell_status>>({{cell_status::ok, "ok"},
                                            {cell_status::wrong, "wrong"},
                                            {cell_status::unsupported, "unsupported"},
                                            {cell_status::out_of_memory, "out_of_memory"},
                                            {cell_status::timeout, "timeout"},
                                            {cell_status::error, "error"},
                                            {cell_status::throttled, "throttled"},
                                            {cell_status::implausible, "implausible"}});
}

struct cell {
  workload problem;
  const registered* entry = nullptr;
  executor_kind executor = executor_kind::cpu;
  // Null, and no settings: selection. Settings are in the order of the task's axes.
  const harness::task* task = nullptr;
  settings of_problem, of_entry;
  // 16 hexadecimal digits: a hash of the problem, its input, the algorithm and its source, the
  // executor, device, measurement policy and program version. Equal keys measure the same thing.
  std::string key;
  // What is known before the run: unsupported or out_of_memory, and why. `ok`: it will be tried.
  cell_status foreseen = cell_status::ok;
  std::string reason;
  std::int64_t number = 0;  // in its plan, from 0
  std::int32_t part = 0;    // of sweep_config::parts, from 0
};

// What is known of a cell before it runs.
struct cell_prospect {
  cell_status status = cell_status::ok;
  std::string reason = {};
};

// The algorithm's name, with the settings of the entry, unless they are the presets, as a variant:
// "auto+product=float16".
std::string name_of(const cell& c);
// to_string of the workload, with the settings of the problem: ".../uniform#7/dimension=128".
std::string problem_of(const cell& c);
// The same of short_title: "n=1024 Q=64 k=8 uniform dimension=128".
std::string short_title_of(const cell& c);

// Whether so many bytes are there for a cell: on a GPU of the device, else of the host.
cell_prospect fits(std::size_t needed, const cell& c, const device& where, std::size_t free_bytes);

// The task of a sweep: selection, or the one that was added.
const task& task_of(const harness::task* added);

// The backends of a sweep, with the threads and multiprocessors of its policy. Each is opened once,
// on first use.
class backends {
 public:
  explicit backends(const measure_policy& policy)
      : threads_(policy.threads), multiprocessors_(policy.multiprocessors) {}
  backend& open(executor_kind kind);
  // What the cuda executor is confined to; empty if it is not, or cannot run here.
  std::optional<confinement> confined();

 private:
  int threads_, multiprocessors_;
  std::unique_ptr<backend> open_[names<executor_kind>.size()];
};

// Plans of more cells are counted and run, but not listed.
inline constexpr std::int64_t most_listed = 1'000'000;

struct plan_request {
  const sweep_config& config;
  const sweep_input& input;
  std::optional<executor_kind> executor;  // overrides the config's
  std::optional<std::string> filter;      // title_filter.hpp, on "algorithm problem"
};

// Algorithms that a glob with algorithm_filter::only_here() left out, with one reason.
struct left_out {
  std::string reason;  // "need a GPU: no CUDA-capable device is detected"
  std::vector<std::string_view> algorithms;
};

// "left out: 168 algorithms need a GPU: ..." after `before`, on one line; empty if there are none.
std::string omitted_text(const std::vector<left_out>& omitted, std::string_view before = {});

// The cells of a sweep in their order. They are made one after another and never all held.
class cell_source {
 public:
  // Goes through the cells.
  class cursor {
   public:
    virtual ~cursor() = default;
    // Overwrites `c` with the next cell, without key and without what is foreseen. False after the
    // last.
    virtual bool next(cell& c) = 0;
  };
  struct algorithm_count {
    std::string_view algorithm;
    executor_kind executor;
    std::int64_t cells;
  };

  virtual ~cell_source() = default;
  virtual std::int64_t size() const = 0;
  // The cells of each algorithm and executor.
  virtual std::vector<algorithm_count> counts() const = 0;
  // By reason, in the registry's order.
  virtual std::vector<left_out> omitted() const { return {}; }
  // A text that is equal for equal sweeps on all machines, and for no others. It names no cell.
  virtual std::string identity() const = 0;
  virtual std::unique_ptr<cursor> begin() const = 0;
  // Sets the key and what is foreseen.
  virtual void complete(cell& c) const = 0;
};

// The cells of a config: problems in the config's order, and for each the algorithms in the
// registry's order. An algorithm that does not read the problem's layout gets one that it reads.
// Counts them; combinations.hpp says how fast. With a filter every title is read, about 10^6 a
// second. The parts of a config follow each other. All of the request and `places` must outlive the
// source. Throws error(failure::usage) if the filter is not possible or leaves no cell, or if the
// policy names multiprocessors and a cell is not for a GPU or the GPU cannot set them aside.
std::unique_ptr<cell_source> make_plan(const plan_request& request, backends& places);

// All cells of make_plan(). Throws error(failure::usage) also if there are more than most_listed.
std::vector<cell> plan_cells(const plan_request& request, backends& places);

}  // namespace kselect::harness
