#pragma once
// Lists the cells of a sweep: algorithm, problem, executor and key of each. The whole plan is made
// before the first cell runs, so that `--dry-run` shows exactly what would happen.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/harness.hpp"
#include "harness/plan/input.hpp"
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
  // 16 hexadecimal digits: a hash of the problem, its input, the algorithm and its source, the
  // executor, device, measurement policy and program version. Equal keys measure the same thing.
  std::string key;
  // What is known before the run: unsupported or out_of_memory, and why. `ok`: it will be tried.
  cell_status foreseen = cell_status::ok;
  std::string reason;
};

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

// Cells are counted before they are made, so that a plan beyond all measure costs no memory.
inline constexpr std::int64_t most_cells = 1'000'000;

struct plan_request {
  const sweep_config& config;
  const input_source& input;
  std::optional<executor_kind> executor;  // overrides the config's
  std::optional<std::string> filter;      // title_filter.hpp, on "algorithm problem"
};

// Every cell: problems in the config's order, and for each the algorithms in the registry's order.
// An algorithm that does not read the problem's layout gets one that it reads. Throws
// error(failure::usage) if the filter is not possible or leaves no cell, if there are more than
// most_cells, or if the policy names multiprocessors and a cell is not for a GPU or the GPU cannot
// set them aside.
std::vector<cell> plan_cells(const plan_request& request, backends& places);

}  // namespace kselect::harness
