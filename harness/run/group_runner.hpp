#pragma once
// Runs a sweep's cell groups in a worker process or in this process. In a worker, a crash or a hang
// costs one cell and not the sweep. In this process, a debugger can follow them.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "harness/run/sweep.hpp"

namespace kselect::harness {

class group_runner {
 public:
  // A cell ended; `record` is its line for the journal.
  using sink = std::function<void(const cell&, const std::string& record)>;

  virtual ~group_runner() = default;
  // Runs every cell of one group and calls `done` once for each.
  virtual void run(std::span<const cell* const> group, const sink& done) = 0;
  // The memory ceilings measured so far, by executor. Those that are known are not measured again.
  const std::map<executor_kind, memory_ceilings>& ceilings() const { return ceilings_; }
  void know(const std::map<executor_kind, memory_ceilings>& ceilings) { ceilings_ = ceilings; }

 protected:
  std::map<executor_kind, memory_ceilings> ceilings_;
};

std::unique_ptr<group_runner> run_in_worker(const sweep_request& request, const sweep_input& input,
                                            backends& places);
std::unique_ptr<group_runner> run_in_process(const sweep_request& request, const sweep_input& input,
                                             backends& places);

}  // namespace kselect::harness
