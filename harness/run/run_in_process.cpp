#include <chrono>
#include <map>
#include <set>
#include <string>

#include "harness/record/records.hpp"
#include "harness/run/group.hpp"
#include "harness/run/group_runner.hpp"

namespace kselect::harness {
namespace {

class forwarding final : public group_observer {
 public:
  forwarding(const sweep_input& input, const backend& place, const group_runner::sink& done)
      : input_(input), place_(place), done_(done) {}

  void running(const cell&) override {}
  void resting() override {}
  void finished(const cell& c, const cell_outcome& outcome) override {
    ended_.insert(&c);
    done_(c, cell_record(c, outcome,
                         {input_.description(), place_.description().threads, place_.confined()}));
  }
  bool go_on_after_damage() override { return true; }

  bool has_ended(const cell& c) const { return ended_.contains(&c); }

 private:
  std::set<const cell*> ended_;
  const sweep_input& input_;
  const backend& place_;
  const group_runner::sink& done_;
};

class direct_runner final : public group_runner {
 public:
  direct_runner(const sweep_request& request, const sweep_input& input, backends& places)
      : request_(request), input_(input), places_(places) {}

  void run(std::span<const cell* const> group, const sink& done) override {
    const executor_kind kind = group.front()->executor;
    backend& place = places_.open(kind);
    forwarding observer(input_, place, done);
    if (place.lost().empty() && measured(kind, place, group, observer)) return;
    // A lost GPU is usable again only in a new process.
    cell_outcome outcome;
    outcome.status = cell_status::error;
    outcome.reason =
        "not measured, because an earlier cell of this process failed: " + place.lost() +
        "; run without --in-process";
    outcome.started = std::chrono::system_clock::now();
    for (const cell* c : group) {
      if (!observer.has_ended(*c)) observer.finished(*c, outcome);
    }
  }

 private:
  // Whether every cell has ended.
  bool measured(executor_kind kind, backend& place, std::span<const cell* const> group,
                forwarding& observer) {
    const bool timed = kind != executor_kind::fiber && request_.config.measure.rounds > 0;
    if (timed && !ceilings_.contains(kind)) {
      ceilings_[kind] = place.measure_ceilings();
    }
    auto& subjects = subjects_[kind];
    if (!subjects) subjects = task_of(request_.config.task).subjects(input_, place);
    const group_request wanted{group, request_.config.measure, ceilings_[kind]};
    return run_group(wanted, *subjects, place, observer);
  }

  const sweep_request& request_;
  const sweep_input& input_;
  backends& places_;
  std::map<executor_kind, std::unique_ptr<group_subjects>> subjects_;
};

}  // namespace

std::unique_ptr<group_runner> run_in_process(const sweep_request& request, const sweep_input& input,
                                             backends& places) {
  return std::make_unique<direct_runner>(request, input, places);
}

}  // namespace kselect::harness
