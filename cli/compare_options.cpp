#include "cli/compare_options.hpp"

#include <charconv>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::cli {
namespace {

// Accepts "5%", "5 %" or "0.05".
double parse_threshold(const std::string& text) {
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  const std::string unit(rest, end);
  const bool percent = unit == "%" || unit == " %";
  if (percent) value /= 100;
  // "5" is more likely 5 % than 500 %.
  if (!percent && value > 1) value = -1;
  if (problem != std::errc() || !(percent || unit.empty()) || !(value >= 0 && value <= 10)) {
    throw error(
        failure::usage,
        fmt::format("--threshold '{}' is neither a share such as 0.05 nor a percentage such "
                    "as 5%",
                    text));
  }
  return value;
}

enum_set<compare::verdict> verdicts_of(const std::vector<std::string>& given) {
  enum_set<compare::verdict> set;
  for (const std::string& name : given) {
    if (const auto verdict = parse<compare::verdict>(name)) set.bits |= set_of(*verdict).bits;
  }
  return set;
}

}  // namespace

void add_compare_options(CLI::App& command, compare_options& o) {
  command.add_option("--threshold", o.threshold, "smallest change that matters: 5% or 0.05")
      ->type_name("SHARE")
      ->capture_default_str();
  command.add_option("--confidence", o.confidence, "of the intervals; tests at 1 - confidence")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  command
      .add_option("--correction", o.correction,
                  "over all cells: bh (Benjamini-Hochberg), family (Holm) or none")
      ->check(CLI::IsMember({"bh", "family", "none"}))
      ->capture_default_str();
  command.add_option("--noise", o.noise, "noise floor of this machine, from `kselect noise`")
      ->type_name("FILE")
      ->envname("KSELECT_NOISE");
  command
      .add_option("--floor-multiplier", o.floor_multiplier,
                  "a change must exceed so many times the noise floor of its cell")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--format", o.format, "table, markdown, json or html")
      ->check(CLI::IsMember({"table", "markdown", "json", "html"}))
      ->capture_default_str();
  command
      .add_option("--fail-on", o.fail_on,
                  "verdicts that fail, of regression (exit code 1), not_comparable (2), "
                  "inconclusive (3), missing (4); or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"regression", "not_comparable", "inconclusive", "missing", "none"}))
      ->capture_default_str();
  command.add_flag("--all", o.all, "also list the cells that did not change");
  command.add_flag("--strict", o.strict,
                   "judge runs that took no turns without a noise floor, too; two runs of one "
                   "program may then be a regression");
  command.add_flag("--force", o.force, "compare across machines and measurement policies");
}

verdict_criteria::verdict_criteria(const compare_options& o) {
  if (!o.noise.empty()) floor_ = compare::read_noise(o.noise);
  how_.threshold = parse_threshold(o.threshold);
  how_.confidence = o.confidence;
  how_.corrected = o.correction == "bh"       ? compare::correction::benjamini_hochberg
                   : o.correction == "family" ? compare::correction::family_wise
                                              : compare::correction::none;
  how_.floor_multiplier = o.floor_multiplier;
  how_.floor = floor_ ? &*floor_ : nullptr;
  how_.force = o.force;
  how_.strict = o.strict;
}

int print_verdict(const compare::comparison& compared, const compare_options& o) {
  if (compared.cells.empty()) {
    throw error(failure::usage,
                fmt::format("no verdict is possible: neither {} nor {} has a cell with a time",
                            compared.base.path, compared.now.path));
  }
  const std::string text = o.format == "markdown" ? compare::markdown_report(compared, o.all)
                           : o.format == "json"   ? compare::json_report(compared)
                           : o.format == "html"   ? compare::html_report(compared)
                                                  : compare::table_report(compared, o.all);
  fmt::print("{}", text);
  return compare::exit_code(compared, verdicts_of(o.fail_on));
}

int with_verdict_codes(const std::function<int()>& work) {
  try {
    return work();
  } catch (const error& failed) {
    if (failed.category() == failure::interrupted) throw;
    throw error(failure::usage, failed.what());
  }
}

}  // namespace kselect::cli
