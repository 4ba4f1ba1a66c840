#include "harness/compare/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/compare/apart.hpp"
#include "harness/compare/noise.hpp"
#include "runtime/format.hpp"

namespace kselect::harness::compare {
namespace {

double percent(double log_ratio) { return 100 * std::expm1(log_ratio); }

std::string bound_text(double log_ratio) {
  return std::isfinite(log_ratio) ? fmt::format("{:+.1f}", percent(log_ratio)) : "?";
}

// The parts of a problem's name and the executor. The report states parts that never vary once.
std::vector<std::string> parts_of(const recorded_cell& cell) {
  const std::string name = to_string(cell.problem);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(cell.executor);
  return parts;
}

class problem_titles {
 public:
  explicit problem_titles(const comparison& compared) {
    if (!compared.cells.empty()) common_ = parts_of(compared.cells.front().any());
    // Not by their places: masks and lengths add parts to some names.
    for (const compared_cell& cell : compared.cells) {
      const auto parts = parts_of(cell.any());
      std::erase_if(common_, [&](const std::string& part) { return !is_among(parts, part); });
    }
  }

  std::string of(const recorded_cell& cell) const {
    auto parts = parts_of(cell);
    std::erase_if(parts, [&](const std::string& part) { return is_among(common_, part); });
    return fmt::format("{}", fmt::join(parts, " "));
  }
  std::string common() const { return fmt::format("{}", fmt::join(common_, " ")); }

 private:
  static bool is_among(const std::vector<std::string>& parts, const std::string& part) {
    return std::ranges::find(parts, part) != parts.end();
  }

  std::vector<std::string> common_;
};

std::string note_of(const compared_cell& cell) {
  std::vector<std::string> notes;
  if (!cell.reason.empty()) notes.push_back(cell.reason);
  if (cell.from_floor) {
    notes.push_back(fmt::format("limit {:+.1f} % from the noise floor", percent(cell.limit)));
  }
  for (const work_change& work : cell.work) {
    notes.push_back(
        fmt::format("{} {} -> {} ({:+})", work.counter, work.base, work.now, work.now - work.base));
  }
  return fmt::format("{}", fmt::join(notes, "; "));
}

std::string time_text(const recorded_cell* cell) {
  return cell != nullptr && cell->time ? format_time(cell->time->median) : std::string();
}

report_row row_of(const compared_cell& cell, const problem_titles& titles) {
  report_row row{.cell = &cell,
                 .verdict = std::string(to_string(cell.verdict)),
                 .algorithm = cell.any().algorithm,
                 .problem = titles.of(cell.any()),
                 .base = time_text(cell.base),
                 .now = time_text(cell.now),
                 .change = {},
                 .bounds = {},
                 .note = note_of(cell)};
  std::ranges::replace(row.verdict, '_', ' ');
  if (cell.log_ratio) {
    row.change = fmt::format("{:+.1f} %", percent(*cell.log_ratio));
    row.bounds =
        fmt::format("[{}, {}] %", bound_text(cell.bounds.low), bound_text(cell.bounds.high));
  }
  return row;
}

// Worst verdict first; report rows of one verdict are then sorted by slowdown.
int severity(verdict v) {
  constexpr verdict order[] = {verdict::regression,   verdict::not_comparable, verdict::missing,
                               verdict::inconclusive, verdict::improvement,    verdict::same,
                               verdict::added};
  return static_cast<int>(std::ranges::find(order, v) - std::begin(order));
}

std::string headline_of(const comparison& compared) {
  std::vector<std::string> parts;
  const auto say = [&](verdict v, const char* one, const char* many) {
    const std::size_t count = compared.count(v);
    if (count != 0) parts.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
  };
  say(verdict::regression, "regression", "regressions");
  say(verdict::not_comparable, "not comparable", "not comparable");
  say(verdict::missing, "missing", "missing");
  say(verdict::inconclusive, "inconclusive", "inconclusive");
  say(verdict::improvement, "improvement", "improvements");
  say(verdict::same, "same", "same");
  say(verdict::added, "added", "added");
  if (parts.empty()) return "no cell has a time in either run";
  const bool refused = !compared.obstacles.empty() && !compared.how.force;
  return fmt::format("{}{}", refused ? "runs not comparable: " : "", fmt::join(parts, ", "));
}

std::vector<std::string> method_of(const comparison& compared) {
  const criteria& how = compared.how;
  const auto weighed = std::ranges::count_if(compared.cells, &compared_cell::bounded);
  std::vector<std::string> method;
  method.push_back(compared.paired
                       ? "The runs took turns: rounds are compared in pairs (Wilcoxon signed-rank)."
                       : "The runs did not take turns: round medians are compared as two samples "
                         "(Mann-Whitney), and drift between the runs is not cancelled.");
  method.push_back(fmt::format(
      "A change counts beyond a threshold of {:.3g} %{}; {} over {} at {:.3g} %; intervals "
      "have {:.3g} %.",
      100 * how.threshold,
      how.floor == nullptr ? ", no noise floor given"
                           : fmt::format(" or {:.3g} times the noise floor in {}",
                                         how.floor_multiplier, how.floor->path),
      how.corrected == correction::benjamini_hochberg ? "corrected by Benjamini-Hochberg"
      : how.corrected == correction::family_wise      ? "corrected family-wise (Holm)"
                                                      : "not corrected",
      runtime::amount_of(weighed, "cell"), 100 * (1 - how.confidence), 100 * how.confidence));
  if (!compared.paired && !how.strict) {
    method.push_back(fmt::format(
        "Without turns or a noise floor, a cell is slower only if its fastest sample takes more "
        "than {:.3g} times (on a GPU {:.3g} times) the other's median: so far two runs of one "
        "program may differ.",
        largest_factor_apart(compared.base, compared.now, "cpu"),
        largest_factor_apart(compared.base, compared.now, "cuda")));
  }
  method.emplace_back(
      "Cells are matched by problem, input, algorithm name and executor; the source may differ.");
  return method;
}

}  // namespace

report make_report(const comparison& compared, bool all) {
  const problem_titles titles(compared);
  report made;
  made.headline = headline_of(compared);
  made.method = method_of(compared);
  for (const std::string& obstacle : compared.obstacles) {
    made.notes.push_back(
        fmt::format("{}: {}", compared.how.force ? "forced" : "not comparable", obstacle));
  }
  made.notes.insert(made.notes.end(), compared.notes.begin(), compared.notes.end());
  if (compared.needs_turns()) made.decides = ab_command(compared);
  for (const auto& [algorithm, ratio] : compared.mean_ratio_by_algorithm()) {
    made.summary.push_back(fmt::format("{} {:+.1f} %", algorithm, 100 * (ratio - 1)));
  }
  made.common = titles.common();
  for (const compared_cell& cell : compared.cells) {
    const bool quiet = cell.verdict == verdict::same || cell.verdict == verdict::added;
    if (quiet && !all && cell.work.empty()) {
      ++made.hidden;
    } else {
      made.rows.push_back(row_of(cell, titles));
    }
  }
  std::ranges::stable_sort(made.rows, [](const report_row& a, const report_row& b) {
    const int left = severity(a.cell->verdict), right = severity(b.cell->verdict);
    if (left != right) return left < right;
    return a.cell->log_ratio.value_or(0) > b.cell->log_ratio.value_or(0);
  });
  return made;
}

int exit_code(const comparison& compared, enum_set<verdict> fail_on) {
  const bool refused = !compared.obstacles.empty() && !compared.how.force;
  if (refused && fail_on.contains(verdict::not_comparable)) return 2;
  constexpr struct {
    compare::verdict verdict;
    int code;
  } order[] = {{verdict::regression, 1},
               {verdict::not_comparable, 2},
               {verdict::missing, 4},
               {verdict::inconclusive, 3}};
  for (const auto& worst : order) {
    if (fail_on.contains(worst.verdict) && compared.count(worst.verdict) != 0) return worst.code;
  }
  return 0;
}

}  // namespace kselect::harness::compare
