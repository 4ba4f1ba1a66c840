// The task `knn`: a cell is one exact search for the k nearest vectors of every query.
//
// Timed is the search as `kselect knn` makes it: on the host from vectors in memory to ordered
// neighbours, on a GPU by its events, from vectors in device memory, without preparing the corpus
// (the stage `prepare`). The search proves its answer itself; this file compares some queries with
// all float64 distances on top.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "harness/config/config.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/whole_runs.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "search/knn/knn.hpp"
#include "search/seconds.hpp"
#include "search/task/float64_check.hpp"
#include "search/task/settings.hpp"
#include "search/task/tasks.hpp"
#include "search/task/vectors.hpp"

namespace kselect::search {
namespace {

// The settings of a cell, read.
struct knn_settings {
  std::int64_t dimension;  // 0: the data set's
  runtime::metric metric;
  bool graph;
  knn_product product;
  std::optional<bool> half_product;  // of a graph: each distance once; without a value: as `knn`
};

std::optional<bool> half_product_of(const std::string& word) {
  return word == "auto" ? std::nullopt : std::optional(word == "yes");
}

knn_settings read(const cell& c) {
  return {value_of<std::int64_t>(c.of_problem, "dimension"),
          parse<runtime::metric>(value_of<std::string>(c.of_problem, "metric")).value(),
          value_of<std::string>(c.of_problem, "queries") == "graph",
          parse<knn_product>(value_of<std::string>(c.of_entry, "product")).value(),
          half_product_of(value_of<std::string>(c.of_entry, "half_product"))};
}

// One cell with its vectors.
class knn_subject final : public subject {
 public:
  knn_subject(const cell& c, std::shared_ptr<const problem_vectors> vectors, backend& place)
      : entry_(*c.entry->algorithm),
        settings_(read(c)),
        vectors_(std::move(vectors)),
        place_(place),
        check_(vectors_->base, vectors_->queries(), settings_.metric, settings_.graph,
               place.shares_host_memory() && !is_filtered(settings_.product), most_checked,
               place.description().threads) {
    answer_.k = c.problem.k;
    answer_.indices.resize(static_cast<std::size_t>(vectors_->queries().count * answer_.k));
    answer_.distances.resize(answer_.indices.size());
  }

  timed_run run() override {
    poison();
    cuda_report_ = {};
    host_report_.reset();
    host_knn_report on_host;
    const knn_request request{.base = vectors_->base,
                              .query = settings_.graph ? nullptr : &*vectors_->query,
                              .exclude_self = settings_.graph,
                              .metric = settings_.metric,
                              .k = answer_.k,
                              .entry = entry_,
                              .product = settings_.product,
                              .cuda = cuda_options(),
                              .report = &cuda_report_,
                              .on_host = &on_host};
    const seconds_since begin;
    knn(request, place_, [&](const knn_block& block) { keep(block); });
    const double taken = begin.get();
    proves_selections_ = false;
    if (!is_filtered(cuda_report_.product) && place_.shares_host_memory()) {
      host_report_ = on_host;
    }
    if (cuda_report_.times.empty()) return {{}, taken * ns_per_second};
    return {{}, cuda_report_.times.back().elapsed * ns_per_millisecond};
  }

  std::vector<stage_time> stages() const override {
    std::vector<stage_time> all;
    if (host_report_) {
      for (const host_knn_stage& stage : host_knn_stages) {
        all.push_back({std::string(stage.name), *host_report_.*stage.seconds * ns_per_second});
      }
    } else if (!cuda_report_.times.empty()) {
      for (const cuda_knn_stage& stage : cuda_knn_stages) {
        if (stage.name == "elapsed") continue;  // the time itself
        all.push_back({std::string(stage.name),
                       cuda_report_.times.back().*stage.time * ns_per_millisecond, stage.of_total});
      }
    }
    return all;
  }

  named_numbers counts() const override {
    const auto number = [](std::int64_t count) { return static_cast<double>(count); };
    if (host_report_) {
      return {{"float64_differences", number(host_report_->compared)},
              {"float64_tiles", number(host_report_->doubled)}};
    }
    return {{"survivors", number(cuda_report_.survivors)},
            {"done_again", number(cuda_report_.unproven)},
            {"by_float64", number(cuda_report_.by_float64)},
            {"query_tiles", number(cuda_report_.query_tiles)},
            {"corpus_tiles", number(cuda_report_.corpus_tiles)}};
  }

  std::string disprove() override { return check_.disprove(answer_); }
  std::string proof() const override {
    return fmt::format("the search's certificate; all float64 distances of {}",
                       runtime::amount_of(check_.queries(), "query"));
  }

 private:
  // The first repeat loads kernels, grows workspaces and proves; the second is the one that counts.
  // Until the first answer is proven, there is one.
  cuda_knn_options cuda_options() const {
    cuda_knn_options o;
    o.sum_by_warp = settings_.product == knn_product::float32;
    o.half_product = settings_.half_product;
    if (place_.shares_host_memory()) return o;
    o.repeats = proves_selections_ ? 1 : 2;
    o.prove = proves_selections_ ? proof_scope::sample : proof_scope::none;
    return o;
  }

  // No answer of an earlier run may pass for this one's.
  void poison() {
    std::ranges::fill(answer_.indices, -1);
    std::ranges::fill(answer_.distances, -1.0F);
  }

  void keep(const knn_block& block) {
    const auto at = static_cast<std::ptrdiff_t>(block.first * answer_.k);
    std::ranges::copy(block.indices, answer_.indices.begin() + at);
    std::ranges::copy(block.distances, answer_.distances.begin() + at);
  }

  const algorithm& entry_;
  knn_settings settings_;
  std::shared_ptr<const problem_vectors> vectors_;
  backend& place_;
  float64_check check_;
  neighbours answer_;
  bool proves_selections_ = true;
  cuda_knn_report cuda_report_;
  std::optional<host_knn_report> host_report_;
};

class knn_runs final : public whole_runs {
 public:
  knn_runs(const vectors_input& input, backend& place) : input_(input), place_(place) {}

 private:
  std::unique_ptr<subject> open(const cell& c) override {
    // The vectors of a group are the same; k alone may differ between groups that follow.
    if (!vectors_ || !same_vectors(c)) {
      vectors_.reset();
      const knn_settings s = read(c);
      vectors_ = input_.vectors(c.problem, s.dimension, s.graph);
      problem_ = c.problem;
      of_problem_ = c.of_problem;
    }
    return std::make_unique<knn_subject>(c, vectors_, place_);
  }
  void forget_inputs() override { vectors_.reset(); }

  bool same_vectors(const cell& c) const {
    workload same = c.problem;
    same.k = problem_.k;
    return same == problem_ && c.of_problem == of_problem_;
  }

  const vectors_input& input_;
  backend& place_;
  std::shared_ptr<const problem_vectors> vectors_;
  workload problem_;
  settings of_problem_;
};

// Why no executor of this kind has the product; empty if it has.
std::string lacks_product(executor_kind kind, knn_product product) {
  const bool has = product == knn_product::automatic ||
                   (product == knn_product::float64 ? kind != executor_kind::cuda
                    : is_filtered(product)          ? kind != executor_kind::cpu
                                                    : kind == executor_kind::cuda);
  return has ? std::string()
             : fmt::format("executor {} has no products in {}", to_string(kind),
                           to_string(product));
}

std::string impossible(const cell& c, const knn_settings& s) {
  const workload& p = c.problem;
  if (const std::string why = lacks_product(c.executor, s.product); !why.empty()) return why;
  if (is_filtered(s.product) && c.entry->algorithm->name != "auto") {
    return fmt::format(
        "products in {} select by themselves: measure them with the algorithm auto alone",
        to_string(s.product));
  }
  const bool euclidean =
      s.metric == runtime::metric::sqeuclidean || s.metric == runtime::metric::euclidean;
  if (s.product == knn_product::int8 && !euclidean) {
    return "products of bytes are for sqeuclidean and euclidean";
  }
  const bool in_float32 = c.executor == executor_kind::cuda && s.product == knn_product::float32;
  if (s.half_product.value_or(false) && !(s.graph && (in_float32 || is_filtered(s.product)))) {
    return "half of the product is for graphs, by products in float16, bfloat16 or int8, or in "
           "float32 on cuda";
  }
  if (may_contain_nan(p.distribution) || may_contain_infinities(p.distribution)) {
    return "the components of vectors must be finite";
  }
  if (s.graph && p.q != p.n) return "a graph has each vector as a query: write Q = n";
  if (s.graph && p.k >= p.n) return "k is not less than n, and no vector is its own neighbour";
  return {};
}

class knn_of_vectors final : public task {
 public:
  std::string_view name() const override { return "knn"; }
  std::string_view about() const override { return "the exact k nearest vectors of each query"; }

  std::span<const task_axis> axes() const override {
    static const std::vector<task_axis> all = {
        dimension_axis(),
        {.name = "metric",
         .preset = std::string(to_string(runtime::metric::sqeuclidean)),
         .choices = {"sqeuclidean", "euclidean", "cosine", "pearson", "inner_product"}},
        {.name = "queries", .preset = std::string("separate"), .choices = {"separate", "graph"}},
        {.name = "product",
         .scope = axis_scope::entry,
         .preset = std::string(to_string(knn_product::automatic)),
         .choices = {"auto", "float16", "bfloat16", "int8", "float32", "float64"}},
        {.name = "half_product",
         .scope = axis_scope::entry,
         .preset = std::string("auto"),
         .choices = {"auto", "no", "yes"}}};
    return all;
  }
  std::span<const registered> entries() const override { return registry(); }
  std::string source_hash(const cell&) const override { return std::string(knn_source_hash()); }
  // A run reads every component of the corpus for every query, out of caches.
  std::int64_t passes(const cell& c) const override {
    return std::clamp<std::int64_t>(read(c).dimension / 16, 1, most_dimension);
  }

  void check(const sweep_config& config) const override {
    const auto* const dataset = std::get_if<dataset_input>(&config.input);
    refuse_dimension(config, dataset != nullptr);
    if (dataset == nullptr) return;
    const auto& queries = own_values(config, "queries");
    const bool has_graph =
        std::ranges::find(queries, setting_value(std::string("graph"))) != queries.end();
    const bool graphs = has_graph && queries.size() == 1;
    const auto fail = [&](const char* what) {
      throw error(failure::usage, fmt::format("{}: {}", config.place("/axes/queries"), what));
    };
    if (dataset->self && !graphs) {
      fail("without /input/dataset/query every vector is a query; write \"graph\"");
    }
    if (!dataset->self && has_graph) {
      fail("a graph has no queries of its own; leave out /input/dataset/query");
    }
  }

  std::unique_ptr<sweep_input> open(const input_choice& choice) const override {
    return open_vectors(choice);
  }

  cell_prospect foresee(const cell& c, const sweep_input& input, const device& where,
                        std::size_t free_bytes) const override {
    if (!c.entry->algorithm->executors.contains(c.executor)) {
      return {cell_status::unsupported,
              fmt::format("not written for executor {}", to_string(c.executor))};
    }
    const knn_settings s = read(c);
    if (std::string why = impossible(c, s); !why.empty()) {
      return {cell_status::unsupported, std::move(why)};
    }
    const std::int64_t own = dynamic_cast<const vectors_input&>(input).dimension();
    const auto dimension = static_cast<double>(own == 0 ? s.dimension : own);
    const workload& p = c.problem;
    const auto vectors = static_cast<double>(p.n) + (s.graph ? 0 : static_cast<double>(p.q));
    const double bytes =
        vectors * dimension * 4 + static_cast<double>(p.q) * static_cast<double>(p.k) * 12;
    return fits(static_cast<std::size_t>(std::min(bytes, 0x1p60)), c, where, free_bytes);
  }

  std::unique_ptr<group_subjects> subjects(const sweep_input& input,
                                           backend& place) const override {
    return std::make_unique<knn_runs>(dynamic_cast<const vectors_input&>(input), place);
  }
};

}  // namespace

const task& knn_task() {
  static const knn_of_vectors only;
  return only;
}

}  // namespace kselect::search
