#include "search/task/objects.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/workload/rows.hpp"
#include "harness/workload/vectors.hpp"
#include "runtime/error.hpp"
#include "search/metric/metrics/euclidean.hpp"
#include "search/metric/stand_ins.hpp"
#include "search/task/settings.hpp"

namespace kselect::search {
namespace {

using metric_space::euclidean;
using metric_space::object_set;
using metric_space::space;

// The rows of a stand-in, if it is one, have outliers that the generator alone does not make.
std::vector<float> rows_of(const workload& components, std::string_view stand_in, int threads) {
  const auto known =
      std::ranges::find(metric_space::stand_ins, stand_in, &metric_space::stand_in::name);
  if (known != metric_space::stand_ins.end()) {
    return metric_space::generate(*known, components.q, components.seed, threads);
  }
  std::vector<float> data(static_cast<std::size_t>(components.input_elements()));
  generate_rows(components, std::as_writable_bytes(std::span(data)), threads);
  return data;
}

// Every space of vectors reads the sections that euclidean writes.
std::unique_ptr<object_set> generated(const workload& components, std::string_view stand_in,
                                      const space& in, int threads) {
  const std::vector<float> data = rows_of(components, stand_in, threads);
  metric_space::sections written;
  euclidean::write(euclidean::set(data, components.q, components.n), written);
  return in.read(written);
}

class generated_objects final : public objects_input {
 public:
  explicit generated_objects(int threads) : threads_(threads) {}

  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {{"kind", "generated"}}; }
  std::shared_ptr<const problem_objects> objects(const cell& c, const space& in) const override {
    auto made = std::make_shared<problem_objects>();
    const auto dimension = value_of<std::int64_t>(c.of_problem, "dimension");
    const auto& stand_in = value_of<std::string>(c.of_problem, "stand_in");
    made->objects = generated(corpus_of(c.problem, dimension), stand_in, in, threads_);
    made->queries = generated(queries_of(c.problem, dimension, 0), stand_in, in, threads_);
    in.adapt(*made->queries, *made->objects);
    return made;
  }

 private:
  int threads_;
};

std::unique_ptr<object_set> first_of(const object_set& all, std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return all.gather(numbers);
}

class objects_of_files final : public objects_input {
 public:
  objects_of_files(const dataset_input& spec, const std::vector<setting_value>& metrics)
      : name_(std::filesystem::path(spec.base).filename().string()) {
    for (const setting_value& metric : metrics) {
      const space& in = metric_space::find_space(std::get<std::string>(metric));
      problem_objects loaded{in.load(spec.base), in.load(spec.query.value())};
      const std::int64_t limit = spec.limit.value_or(loaded.objects->count());
      if (limit < loaded.objects->count()) loaded.objects = first_of(*loaded.objects, limit);
      const dataset_sizes sizes{.base = loaded.objects->count(),
                                .queries = loaded.queries->count()};
      if (!by_metric_.empty() && (sizes.base != sizes_.base || sizes.queries != sizes_.queries)) {
        throw error(failure::usage,
                    fmt::format("{}: its metrics find different numbers of objects; make a config "
                                "for each",
                                spec.base));
      }
      sizes_ = sizes;
      by_metric_.emplace(in.metric_name(), std::move(loaded));
    }
  }

  std::optional<dataset_sizes> sizes() const override { return sizes_; }
  nlohmann::ordered_json description() const override {
    nlohmann::ordered_json about = {{"kind", "dataset"}, {"name", name_}};
    const auto& [metric, loaded] = *by_metric_.begin();
    about["hash"] = fmt::format("{:016x}", loaded.objects->hash());
    about["query_hash"] = fmt::format("{:016x}", loaded.queries->hash());
    return about;
  }
  std::shared_ptr<const problem_objects> objects(const cell& c, const space& in) const override {
    const problem_objects& all = by_metric_.at(std::string(in.metric_name()));
    auto made = std::make_shared<problem_objects>();
    made->objects = first_of(*all.objects, c.problem.n);
    made->queries = first_of(*all.queries, c.problem.q);
    in.adapt(*made->queries, *made->objects);
    return made;
  }

 private:
  std::string name_;
  std::map<std::string, problem_objects> by_metric_;
  dataset_sizes sizes_;
};

}  // namespace

bool takes_vectors(const space& in) { return in.objects_name() == euclidean::objects; }

std::unique_ptr<objects_input> open_objects(const input_choice& choice) {
  const auto* const dataset = std::get_if<dataset_input>(&choice.spec);
  if (dataset == nullptr) return std::make_unique<generated_objects>(choice.threads);
  const auto metrics = std::ranges::find(choice.own, "metric", &axis_values::axis);
  return std::make_unique<objects_of_files>(*dataset, metrics->values);
}

}  // namespace kselect::search
