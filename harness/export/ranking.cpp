#include "harness/export/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
namespace {

using compare::recorded_cell;
using compare::recorded_run;
using compare::recorded_time;

bool is_baseline(const recorded_cell& cell) {
  const auto algorithm = cell.record.find("algorithm");
  if (algorithm == cell.record.end() || !algorithm->is_object()) return false;
  const auto file = algorithm->find("file");
  return file != algorithm->end() && file->is_string() &&
         file->get<std::string>().starts_with("baselines/");
}

std::optional<double> share_of(const recorded_cell& cell) {
  const auto floor = cell.record.find("floor");
  if (floor == cell.record.end() || !floor->is_object()) return std::nullopt;
  const auto share = floor->find("share");
  if (share == floor->end() || !share->is_number()) return std::nullopt;
  return share->get<double>();
}

// The same for all layouts of one problem.
std::string group_of(const recorded_cell& cell) {
  recorded_problem p = cell.problem;
  p.layout = layout::row_major;
  p.pitch = 0;
  return cell.executor + ' ' + to_string(p);
}

const recorded_cell* baseline_of(const ranking& of, const std::string& name) {
  for (const ranked_cell& each : of.timed) {
    if (name.empty() ? is_baseline(*each.cell) : each.cell->algorithm == name) return each.cell;
  }
  return nullptr;
}

void finish(ranking& of, const std::string& baseline) {
  std::ranges::stable_sort(of.timed, std::less<>{},
                           [](const ranked_cell& c) { return c.cell->time->median; });
  of.baseline = baseline_of(of, baseline);
  for (ranked_cell& each : of.timed) {
    const recorded_time& time = *each.cell->time;
    each.first = &each == &of.timed.front() || time.low <= of.timed.front().cell->time->high;
    if (of.baseline != nullptr && time.median > 0) {
      each.factor = of.baseline->time->median / time.median;
    }
    each.share = share_of(*each.cell);
  }
}

void require_present(const recorded_run& run, const std::string& baseline) {
  std::set<std::string_view> names;
  for (const recorded_cell& cell : run.cells) names.insert(cell.algorithm);
  if (baseline.empty() || names.contains(baseline)) return;
  const std::vector<std::string_view> there(names.begin(), names.end());
  const auto near = nearest_names(baseline, there);
  throw error(failure::usage,
              fmt::format("--baseline '{}' is in no cell; {}", baseline,
                          near.empty() ? fmt::format("there are {}", fmt::join(there, ", "))
                                       : fmt::format("near: {}", fmt::join(near, ", "))));
}

// How an algorithm did over all points of an executor.
struct standing {
  int points = 0, firsts = 0, shared = 0;
  double lost = 0;  // sum of the logarithms of its time over the fastest time
};

std::map<std::string, standing> standings_of(const std::vector<const ranking*>& points) {
  std::map<std::string, standing> all;
  for (const ranking* const point : points) {
    const auto firsts = std::ranges::count(point->timed, true, &ranked_cell::first);
    const double best = point->timed.front().cell->time->median;
    for (const ranked_cell& each : point->timed) {
      standing& s = all[each.cell->algorithm];
      ++s.points;
      s.firsts += each.first ? 1 : 0;
      s.shared += each.first && firsts > 1 ? 1 : 0;
      if (best > 0) s.lost += std::log(each.cell->time->median / best);
    }
  }
  return all;
}

// The algorithm with the most first places; of several, the one that loses least elsewhere.
std::string winner_of(const std::map<std::string, standing>& all) {
  const auto best = std::ranges::max_element(all, [](const auto& a, const auto& b) {
    const standing &x = a.second, &y = b.second;
    if (x.firsts != y.firsts) return x.firsts < y.firsts;
    return x.lost / x.points > y.lost / y.points;
  });
  return best->first;
}

const ranked_cell* cell_of(const ranking& point, const std::string& algorithm) {
  const auto found = std::ranges::find_if(
      point.timed, [&](const ranked_cell& c) { return c.cell->algorithm == algorithm; });
  return found == point.timed.end() ? nullptr : &*found;
}

// From the least to the greatest factor over the points, as text: "3.2" or "1.4 to 3.1".
struct factor_range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  std::set<std::string> over;  // the names of the baselines

  void add(double factor, const std::string& name) {
    low = std::min(low, factor);
    high = std::max(high, factor);
    over.insert(name);
  }
  std::string text() const {
    const auto number = [](double f) { return fmt::format("{:.{}f}", f, f < 9.95 ? 1 : 0); };
    return number(low) == number(high) ? number(low)
                                       : fmt::format("{} to {}", number(low), number(high));
  }
};

factor_range factors_of(const std::vector<const ranking*>& points, const std::string& winner) {
  factor_range range;
  for (const ranking* const point : points) {
    const ranked_cell* const mine = cell_of(*point, winner);
    if (mine == nullptr || !mine->factor || point->baseline == mine->cell) continue;
    range.add(*mine->factor, point->baseline->algorithm);
  }
  return range;
}

// The same over C++'s own selection, which every reader knows: the faster of its two entries.
factor_range factors_over_nth_element(const std::vector<const ranking*>& points,
                                      const std::string& winner) {
  factor_range range;
  for (const ranking* const point : points) {
    const ranked_cell* const mine = cell_of(*point, winner);
    const auto known = std::ranges::find_if(point->timed, [](const ranked_cell& c) {
      return c.cell->algorithm.starts_with("cpu/nth_element");
    });
    if (mine == nullptr || known == point->timed.end() || known->cell == point->baseline ||
        mine->cell == known->cell || mine->cell->time->median <= 0) {
      continue;
    }
    range.add(known->cell->time->median / mine->cell->time->median, known->cell->algorithm);
  }
  return range;
}

std::string over_text(const factor_range& range, bool named) {
  if (range.over.size() == 1) {
    return named ? *range.over.begin()
                 : fmt::format("{}, the fastest baseline", *range.over.begin());
  }
  return named ? "cpu/nth_element" : "the fastest baseline of each point";
}

// ", 1.4 to 3.1 times as fast as cpu/x, the fastest baseline"; empty without a baseline.
std::string factors_text(const std::vector<const ranking*>& points, const std::string& winner,
                         const std::string& baseline) {
  const factor_range over = factors_of(points, winner);
  std::string text;
  if (!over.over.empty()) {
    text = fmt::format(", {} times as fast as {}", over.text(), over_text(over, !baseline.empty()));
  }
  const factor_range known = factors_over_nth_element(points, winner);
  if (!baseline.empty() || known.over.empty()) return text;
  return text + fmt::format("{} {} times as fast as {}", text.empty() ? "," : ", and", known.text(),
                            over_text(known, true));
}

// "a", "a and b", "a, b and 3 others"
std::string some_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  if (names.size() <= 3) {
    return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
  }
  return fmt::format("{}, {} and {}", names[0], names[1],
                     runtime::amount_of(names.size() - 2, "other"));
}

std::string answer_at(const ranking& point, const std::string& baseline) {
  std::vector<std::string> firsts;
  for (const ranked_cell& each : point.timed) {
    if (each.first) firsts.push_back(each.cell->algorithm);
  }
  const recorded_time& time = *point.timed.front().cell->time;
  const workload& p = point.problem;
  const std::vector<const ranking*> alone = {&point};
  return fmt::format("{} {} at n = {}, Q = {}, k = {} on {}: {}{}.", some_of(firsts),
                     firsts.size() == 1 ? "is fastest" : "share the first place", p.n, p.q, p.k,
                     point.executor, format_time(time.median, half_interval(time)),
                     factors_text(alone, firsts.front(), baseline));
}

std::string answer_over(const std::vector<const ranking*>& points, const std::string& executor,
                        const std::string& baseline) {
  const auto standings = standings_of(points);
  const std::string winner = winner_of(standings);
  const standing& its = standings.at(winner);
  return fmt::format("{} is fastest at {} of {} points on {}{}{}.", winner, its.firsts,
                     points.size(), executor,
                     its.shared == 0 ? "" : fmt::format(" ({} of them shared)", its.shared),
                     factors_text(points, winner, baseline));
}

}  // namespace

double half_interval(const recorded_time& time) { return (time.high - time.low) / 2; }

std::vector<ranking> rank_cells(const recorded_run& run, const std::string& baseline) {
  require_present(run, baseline);
  std::vector<ranking> rankings;
  std::map<std::string, std::size_t> places;
  for (const recorded_cell& cell : run.cells) {
    const auto [place, added] = places.try_emplace(group_of(cell), rankings.size());
    if (added) rankings.push_back({cell.problem, cell.executor, {}, {}, nullptr});
    ranking& mine = rankings[place->second];
    if (cell.status == cell_status::ok && cell.time) {
      mine.timed.push_back({&cell, false, {}, {}});
    } else {
      mine.untimed.push_back(&cell);
    }
  }
  for (ranking& each : rankings) finish(each, baseline);
  return rankings;
}

std::string answer_of(const std::vector<ranking>& rankings, const std::string& baseline) {
  std::vector<std::string> executors, sentences;
  std::map<std::string, std::vector<const ranking*>> by_executor;
  for (const ranking& each : rankings) {
    if (each.timed.empty()) continue;
    auto& points = by_executor[each.executor];
    if (points.empty()) executors.push_back(each.executor);
    points.push_back(&each);
  }
  for (const std::string& executor : executors) {
    const auto& points = by_executor[executor];
    sentences.push_back(points.size() == 1 ? answer_at(*points.front(), baseline)
                                           : answer_over(points, executor, baseline));
  }
  return sentences.empty() ? "No cell has a time, so nothing is fastest."
                           : fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace kselect::harness
