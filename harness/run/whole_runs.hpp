#pragma once
// The subjects of tasks whose cell is one long run, such as a search: each run is timed as a whole,
// and says how its time divides into stages and what it counted.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/run/subjects.hpp"

namespace kselect::harness {

using named_numbers = std::vector<std::pair<std::string, double>>;

// A named part of a run, in ns.
struct stage_time {
  std::string name;
  double nanoseconds = 0;
  bool of_time = true;  // part of the run's time; false: done beside it
};

// One cell, ready to run again and again.
class subject {
 public:
  virtual ~subject() = default;
  // Runs once. The time is of the work that the task measures, in ns.
  virtual timed_run run() = 0;
  // The clock of that time; null: the backend's.
  virtual const char* clock() const { return nullptr; }
  // Of the last run. The stages are always the same ones.
  virtual std::vector<stage_time> stages() const { return {}; }
  virtual named_numbers counts() const { return {}; }
  // Proves the last run's answer. Empty if the proof holds, else one line that says what is wrong.
  virtual std::string disprove() = 0;
  // How: "certificate, and float64 distances of 16 queries".
  virtual std::string proof() const = 0;
};

// Takes the turns of such subjects. They are open from a group's first cell to the next group's.
class whole_runs : public group_subjects {
 public:
  void admit(contender& c, const turn_context& context) final;
  void take_turn(contender& c, int round, const turn_context& context) final;
  void judge(contender& c, timing& time, const memory_ceilings& ceilings,
             const turn_context& context) final;
  void forget() final;

 protected:
  // Throws error(failure::resources) if the subject does not fit.
  virtual std::unique_ptr<subject> open(const cell& c) = 0;
  // Frees what subjects share.
  virtual void forget_inputs() = 0;

 private:
  // An open subject with the values of its finished rounds.
  struct opened {
    std::unique_ptr<subject> what;
    std::vector<stage_log> stages;  // of each round the median
    double proof_seconds = 0;       // that the last proof took
  };
  bool proven(contender& c, opened& mine, const std::string& when);
  bool take_samples(contender& c, opened& mine, const turn_context& context,
                    const std::string& when, round_samples& taken);

  std::unique_ptr<cell> group_;         // the first cell of the present group
  std::map<std::string, opened> open_;  // by the cell's key
};

}  // namespace kselect::harness
