// The task `index`: a cell is one search of a metric space with an index, or without one.
//
// Timed is the search from queries in host memory to answers in host memory, as `kselect index`
// times it; on a GPU it has the stages `upload`, `kernels` and `answers`. Building the index and
// training a radius come before and are counted, not timed in rounds.

#include <algorithm>

#include <fmt/format.h>

#include "harness/config/config.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/whole_runs.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "search/metric/prove.hpp"
#include "search/metric/space.hpp"
#include "search/sampled_queries.hpp"
#include "search/seconds.hpp"
#include "search/task/index_axes.hpp"
#include "search/task/index_cell.hpp"
#include "search/task/objects.hpp"
#include "search/task/settings.hpp"
#include "search/task/tasks.hpp"

namespace kselect::search {
namespace {

using namespace metric_space;

// Of a cell: its objects with their index.
struct indexed {
  std::shared_ptr<const problem_objects> of;
  index_data index;
  double build_seconds = 0;
  double intrinsic_dimension = 0;  // of the objects
};

indexed built(const cell& c, std::shared_ptr<const problem_objects> of, backend& place) {
  const space& in = space_of_cell(c);
  constexpr std::int64_t pairs = 100'000;
  const distance_histogram sampled = sample_distances(in, *of->objects, pairs, 1);
  indexed made{std::move(of), {}, 0, sampled.intrinsic_dimension()};
  made.index.kind = parse<index_kind>(c.entry->algorithm->name).value();
  {
    const seconds_into building(made.build_seconds);
    if (made.index.kind == index_kind::list_of_clusters) {
      const auto radius = static_cast<float>(value_of<double>(c.of_entry, "cluster_radius"));
      const auto size = value_of<std::int64_t>(c.of_entry, "cluster_size");
      made.index.clusters = radius > 0 ? in.build_clusters_within(*made.of->objects, radius, place)
                                       : in.build_clusters(*made.of->objects, size, place);
    } else if (made.index.kind == index_kind::sss) {
      made.index.pivots = in.build_pivots(*made.of->objects,
                                          {.alpha = value_of<double>(c.of_entry, "alpha"),
                                           .most = value_of<std::int64_t>(c.of_entry, "pivots")},
                                          place);
    }
  }
  return made;
}

// The backend of a cell that has threads of its own; null if it has none.
std::unique_ptr<backend> own_place(const cell& c) {
  const auto threads = static_cast<int>(value_of<std::int64_t>(c.of_entry, "threads"));
  return threads == 0 ? nullptr : open_backend(c.executor, threads);
}

class index_subject final : public subject {
 public:
  index_subject(const cell& c, std::shared_ptr<const indexed> with, backend& place)
      : in_(space_of_cell(c)),
        with_(std::move(with)),
        own_(own_place(c)),
        place_(own_ ? *own_ : place),
        all_threads_(place.description().threads),
        wanted_(wanted_of(c)),
        radius_(static_cast<float>(wanted_.radius)),
        searcher_(in_.open(objects(), with_->index, place_, options_of(c))),
        checked_(sampled_queries(queries().count(), most_checked)),
        asked_(queries().gather(checked_)) {
    const int threads = all_threads_;
    const seconds_into training(training_seconds_);
    if (wanted_.share > 0) {
      radius_ = radius_of_share(in_, objects(), with_->index, wanted_.share, threads);
    }
    const bool grows = !wanted_.is_range() && c.executor != executor_kind::cpu &&
                       with_->index.kind != index_kind::none;
    if (grows) plan_ = train_radius(in_, objects(), with_->index, wanted_.k, threads);
  }

  timed_run run() override {
    report_ = {};
    nearest_ = {};
    within_ = {};
    if (wanted_.is_range()) {
      within_ = searcher_->range(queries(), radius_, report_);
    } else {
      nearest_ = searcher_->knn(queries(), wanted_.k, plan_.value_or(radius_plan{}), report_);
    }
    return {{}, report_.seconds * ns_per_second};
  }
  const char* clock() const override { return "steady"; }

  std::vector<stage_time> stages() const override {
    if (place_.description().kind != executor_kind::cuda) return {};
    return {{"upload", report_.upload_seconds * ns_per_second},
            {"kernels", report_.kernel_seconds * ns_per_second},
            {"answers", report_.answer_seconds * ns_per_second}};
  }

  named_numbers counts() const override {
    const auto number = [](std::int64_t count) { return static_cast<double>(count); };
    named_numbers all = {{"intrinsic_dimension", with_->intrinsic_dimension},
                         {"build_seconds", with_->build_seconds},
                         {"training_seconds", training_seconds_},
                         {"hits", number(hits())},
                         {"batches", number(report_.batches)},
                         {"launches", number(report_.launches)},
                         {"pending", number(report_.pending)}};
    if (with_->index.kind == index_kind::list_of_clusters) {
      all.emplace_back("clusters", number(with_->index.clusters.clusters()));
    }
    if (with_->index.kind == index_kind::sss) {
      all.emplace_back("pivots", number(with_->index.pivots.count()));
      all.emplace_back("diameter", with_->index.pivots.diameter);
    }
    if (wanted_.is_range()) all.emplace_back("radius", radius_);
    if (plan_) {
      all.emplace_back("first_radius", plan_->first);
      all.emplace_back("radius_step", plan_->step);
    }
    // Of all queries.
    if (report_.done) {
      all.emplace_back("distances", number(report_.done->distances));
      all.emplace_back("clusters_visited", number(report_.done->clusters));
      all.emplace_back("pruned", number(report_.done->pruned));
    }
    if (report_.counters) {
      for (const auto& each : names<simt::counter>) {
        all.emplace_back(each.name, number((*report_.counters)[each.value]));
      }
    }
    return all;
  }

  std::string disprove() override {
    const int threads = all_threads_;
    return wanted_.is_range() ? metric_space::disprove(in_, objects(), *asked_, radius_,
                                                       part_of(within_, checked_), threads)
                              : metric_space::disprove(in_, objects(), *asked_,
                                                       part_of(nearest_, checked_), threads);
  }
  std::string proof() const override {
    return fmt::format("all distances of {}", runtime::amount_of(checked_.size(), "query"));
  }

 private:
  const object_set& objects() const { return *with_->of->objects; }
  const object_set& queries() const { return *with_->of->queries; }
  std::int64_t hits() const {
    return std::ssize(wanted_.is_range() ? within_.objects : nearest_.objects);
  }

  const space& in_;
  std::shared_ptr<const indexed> with_;
  std::unique_ptr<backend> own_;
  backend& place_;
  int all_threads_;  // of training and proofs, which are not timed
  wanted wanted_;
  float radius_;
  std::unique_ptr<searcher> searcher_;
  std::vector<std::int64_t> checked_;
  std::unique_ptr<object_set> asked_;
  std::optional<radius_plan> plan_;  // of a radius that grows
  double training_seconds_ = 0;
  knn_answer nearest_;
  range_answer within_;
  search_report report_;
};

class index_runs final : public whole_runs {
 public:
  index_runs(const objects_input& input, backend& place) : input_(input), place_(place) {}

 private:
  std::unique_ptr<subject> open(const cell& c) override {
    if (!objects_ || !same_objects(c)) {
      forget_inputs();
      objects_ = input_.objects(c, space_of_cell(c));
      of_ = c;
    }
    auto& index = indexes_[index_of(c)];
    if (!index) index = std::make_shared<const indexed>(built(c, objects_, place_));
    return std::make_unique<index_subject>(c, index, place_);
  }
  void forget_inputs() override {
    indexes_.clear();
    objects_.reset();
  }

  // Rows depend on k only for a distribution that indexes do not know of, and on no radius.
  bool same_objects(const cell& c) const {
    workload same = c.problem;
    same.k = of_.problem.k;
    return same == of_.problem &&
           space_of_cell(c).metric_name() == space_of_cell(of_).metric_name() &&
           *find_setting(c.of_problem, "dimension") == *find_setting(of_.of_problem, "dimension") &&
           *find_setting(c.of_problem, "stand_in") == *find_setting(of_.of_problem, "stand_in");
  }

  // Kind and parameters: cells that search one index in several ways share it.
  static std::string index_of(const cell& c) {
    std::string text{c.entry->algorithm->name};
    for (const char* const axis : {"cluster_size", "cluster_radius", "alpha", "pivots"}) {
      if (const auto* const value = find_setting(c.of_entry, axis)) text += ' ' + to_string(*value);
    }
    return text;
  }

  const objects_input& input_;
  backend& place_;
  std::shared_ptr<const problem_objects> objects_;
  cell of_;  // whose objects they are
  std::map<std::string, std::shared_ptr<const indexed>> indexes_;
};

algorithm entry_of(index_kind kind, std::string_view source) {
  algorithm entry;
  entry.name = to_string(kind);
  entry.family = "metric index";
  entry.source = source;
  entry.executors = set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda);
  entry.threaded = true;
  return entry;
}

class search_with_index final : public task {
 public:
  std::string_view name() const override { return "index"; }
  std::string_view about() const override { return "k-NN or range search with a metric index"; }

  std::span<const task_axis> axes() const override {
    static const std::vector<task_axis> all = index_axes();
    return all;
  }

  std::span<const registered> entries() const override {
    static const algorithm kinds[] = {
        entry_of(index_kind::none, "exhaustive search"),
        entry_of(index_kind::list_of_clusters, "Chavez & Navarro 2000"),
        entry_of(index_kind::sss, "Brisaboa et al. 2006")};
    static const registered all[] = {{&kinds[0], "search/metric/space_of.hpp", ""},
                                     {&kinds[1], "search/metric/index.hpp", ""},
                                     {&kinds[2], "search/metric/index.hpp", ""}};
    return all;
  }
  std::string source_hash(const cell& c) const override {
    return std::string(space_of_cell(c).source_hash());
  }
  std::int64_t passes(const cell& c) const override {
    return std::clamp<std::int64_t>(value_of<std::int64_t>(c.of_problem, "dimension") / 4, 1,
                                    most_dimension);
  }

  void check(const sweep_config& config) const override {
    const auto* const dataset = std::get_if<dataset_input>(&config.input);
    refuse_dimension(config, dataset != nullptr);
    refuse_stand_ins(config, dataset != nullptr);
    if (dataset != nullptr && !dataset->query) {
      throw error(failure::usage, fmt::format("{}: \"query\" is missing: the objects to search for",
                                              config.place("/input/dataset")));
    }
    for (const setting_value& metric : own_values(config, "metric")) {
      const space& in = find_space(std::get<std::string>(metric));
      if (dataset != nullptr || takes_vectors(in)) continue;
      throw error(failure::usage,
                  fmt::format("{}: {} compares {}, which are not generated; give /input/dataset",
                              config.place("/axes/metric"), in.metric_name(), in.objects_name()));
    }
  }

  std::unique_ptr<sweep_input> open(const input_choice& choice) const override {
    return open_objects(choice);
  }

  cell_prospect foresee(const cell& c, const sweep_input&, const device& where,
                        std::size_t free_bytes) const override {
    if (std::string why = why_not(c); !why.empty()) {
      return {cell_status::unsupported, std::move(why)};
    }
    return fits(bytes_of(c), c, where, free_bytes);
  }

  std::unique_ptr<group_subjects> subjects(const sweep_input& input,
                                           backend& place) const override {
    return std::make_unique<index_runs>(dynamic_cast<const objects_input&>(input), place);
  }
};

}  // namespace

const task& index_task() {
  static const search_with_index only;
  return only;
}

}  // namespace kselect::search
