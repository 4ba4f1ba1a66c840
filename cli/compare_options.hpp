#pragma once
// Options and output that `compare` and `ab` share: when a cell counts as changed, and what fails.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "harness/compare/noise.hpp"
#include "harness/compare/report.hpp"

namespace kselect::cli {

struct compare_options {
  std::string threshold = "5%";
  double confidence = 0.95;
  std::string correction = "bh";
  std::string noise;  // file of a noise floor
  double floor_multiplier = 2;
  std::string format = "table";
  std::vector<std::string> fail_on = {"regression", "not_comparable", "missing", "inconclusive"};
  bool all = false, force = false, strict = false;
};

void add_compare_options(CLI::App& command, compare_options& o);

// The options as criteria, with the noise floor that they name. Throws error(failure::usage) if the
// threshold is no number, error(failure::input) if the file is no noise floor.
class verdict_criteria {
 public:
  explicit verdict_criteria(const compare_options& o);
  verdict_criteria(const verdict_criteria&) = delete;
  verdict_criteria& operator=(const verdict_criteria&) = delete;
  const compare::criteria& how() const { return how_; }

 private:
  std::optional<compare::noise_floor> floor_;
  compare::criteria how_;
};

// Prints the comparison in the requested format. Returns the exit code.
int print_verdict(const compare::comparison& compared, const compare_options& o);

// Runs work that ends in a verdict's code. Verdicts use 3 and 4 for inconclusive and missing. So
// every error that prevents a verdict, such as an unreadable file, becomes error(failure::usage),
// code 2.
int with_verdict_codes(const std::function<int()>& work);

}  // namespace kselect::cli
