#pragma once
// Where a sweep's cell groups run: in a worker process, which a crash or a hang costs and not the
// sweep, or in this one, where a debugger is.

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
  // Brings every cell of one group to its end.
  virtual void run(std::span<const cell* const> group, const sink& done) = 0;
  // What was measured so far of each executor's memory.
  const std::map<executor_kind, memory_ceilings>& ceilings() const { return ceilings_; }

 protected:
  std::map<executor_kind, memory_ceilings> ceilings_;
};

std::unique_ptr<group_runner> run_in_worker(const sweep_request& request, const input_source& input,
                                            backends& places);
std::unique_ptr<group_runner> run_in_process(const sweep_request& request,
                                             const input_source& input, backends& places);

}  // namespace kselect::harness
