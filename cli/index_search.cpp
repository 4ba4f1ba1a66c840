// `kselect index knn` and `kselect index range`.

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/answer_files.hpp"
#include "cli/answer_table.hpp"
#include "cli/index_commands.hpp"
#include "cli/index_search_options.hpp"
#include "cli/job_progress.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/vectors.hpp"
#include "runtime/json.hpp"
#include "search/knn/knn.hpp"
#include "search/metric/index_file.hpp"
#include "search/metric/prove.hpp"
#include "search/metric/sets.hpp"
#include "search/sampled_queries.hpp"

namespace kselect::cli {
namespace {

using namespace metric_space;
using json = nlohmann::ordered_json;

// Where to search. Refuses what only kernels have where native code runs, instead of leaving it
// unused.
executor_kind executor_for(const index_search_arguments& o) {
  const executor_kind where = index_executor(o.executor);
  const index_search_arguments usual;
  const char* const given = o.walk != usual.walk                     ? "--walk"
                            : o.distribution != usual.distribution   ? "--distribution"
                            : o.batch != usual.batch                 ? "--batch"
                            : o.block_threads != usual.block_threads ? "--block-threads"
                                                                     : nullptr;
  if (given == nullptr || where != executor_kind::cpu) return where;
  throw error(failure::usage, fmt::format("{} is for executors cuda and fiber; this is cpu "
                                          "(--executor fiber runs the kernel here, slowly)",
                                          given));
}

// An opened index with its queries and backend, and the steps that both commands share.
class session {
 public:
  explicit session(const index_search_arguments& o)
      : o_(o),
        held_(inputs_of(o), outputs_of(o)),
        place_(open_backend(executor_for(o), o.threads)),
        indexed_(read_index_file(o.index)),
        queries_(indexed_.in->load(o.queries)) {
    if (o.exhaustive) indexed_.index = {};
    if (o.limit != 0 && o.limit < queries_->count()) queries_ = queries_->gather(first(o.limit));
    indexed_.in->adapt(*queries_, *indexed_.objects);
    options_.radius = parse<metric_space::radius_rule>(o.radius_rule).value();
    options_.distribution = parse<distribution_rule>(o.distribution).value();
    options_.walk = parse<walk_rule>(o.walk).value();
    options_.batch = o.batch;
    options_.block_threads = o.block_threads;
    options_.watch = &shown_;
  }

  const indexed_objects& indexed() const { return indexed_; }
  const object_set& queries() const { return *queries_; }
  int threads() const { return place_->description().threads; }
  bool runs_kernels() const { return place_->description().kind != executor_kind::cpu; }

  // Returns the answer.
  template <class Search>
  auto search(const Search& with) {
    const auto found = indexed_.in->open(*indexed_.objects, indexed_.index, *place_, options_);
    shown_.begin("searched", queries_->count());
    return with(*found, report_);
  }

  // Proves the answer. Throws failure::wrong_answer. `part` gives the answer to some queries. A
  // proof is not timed, so it uses all threads even if the search may use only one.
  template <class Part, class... Arguments>
  void prove(const Part& part, const Arguments&... arguments) {
    const auto scope = parse<proof_scope>(o_.prove).value();
    std::vector<std::int64_t> numbers;
    const std::int64_t count = queries_->count();
    constexpr std::int64_t sample = 16;
    if (scope != proof_scope::none) {
      numbers = sampled_queries(count, scope == proof_scope::all ? count : sample);
    }
    proven_ = static_cast<std::int64_t>(numbers.size());
    if (numbers.empty()) return;
    const auto asked = queries_->gather(numbers);
    shown_.begin("proven", proven_);
    const std::string wrong = disprove(*indexed_.in, *indexed_.objects, *asked, arguments...,
                                       part(numbers), available_threads(), &shown_);
    if (wrong.empty()) return;
    throw error(failure::wrong_answer,
                fmt::format("{}: a wrong answer, nothing was written: {}", o_.index, wrong));
  }

  void print(std::int64_t hits) const {
    std::string text =
        fmt::format("{} of {}, {}; {} proven", amount_of(queries_->count(), "query"),
                    objects_text(indexed_), amount_of(hits, "hit"), amount_of(proven_, "query"));
    if (report_.done && queries_->count() != 0) {
      text +=
          fmt::format("; {:.1f} distances a query", static_cast<double>(report_.done->distances) /
                                                        static_cast<double>(queries_->count()));
    }
    if (place_->description().kind != executor_kind::fiber) {
      text += fmt::format("; {}", format_time(report_.seconds * 1e9));
    }
    say_beside(outputs_of(o_), text + '\n');
  }

 private:
  static std::vector<std::int64_t> first(std::int64_t count) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i;
    return numbers;
  }

  static std::vector<named_file> inputs_of(const index_search_arguments& o) {
    return {{"--index", o.index}, {"--queries", container_of(o.queries), true}};
  }
  static std::vector<named_file> outputs_of(const index_search_arguments& o) {
    return {{"--indices", o.indices, true},
            {"--distances", o.distances, true},
            {"--starts", o.starts, true},
            {"--json", o.json_file, true}};
  }

  const index_search_arguments& o_;
  job_files held_;
  std::unique_ptr<backend> place_;
  indexed_objects indexed_;
  std::unique_ptr<object_set> queries_;
  job_progress shown_{"queries", "nothing was written"};
  search_options options_;
  search_report report_;
  std::int64_t proven_ = 0;
};

// The numbers of objects in the source file.
std::vector<std::int64_t> source_numbers(const indexed_objects& x,
                                         std::span<const std::int64_t> objects) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(objects.size());
  for (const std::int64_t i : objects) numbers.push_back(x.number_of(i));
  return numbers;
}

// One JSON object per query: its number, its text if it has one, and the objects found.
void add_json(answer_files& files, const index_search_arguments& o, const session& s,
              const range_answer& answer) {
  if (o.json_file.empty()) return;
  json all = json::array();
  for (std::int64_t q = 0; q < s.queries().count(); ++q) {
    json entry = {{"query", q}};
    if (const std::string text = s.queries().text(q); !text.empty()) entry["text"] = text;
    json found = json::array();
    for (std::int64_t at = answer.starts[static_cast<std::size_t>(q)];
         at < answer.starts[static_cast<std::size_t>(q) + 1]; ++at) {
      const std::int64_t object = answer.objects[static_cast<std::size_t>(at)];
      json hit = {{"index", s.indexed().number_of(object)},
                  {"distance", answer.distances[static_cast<std::size_t>(at)]}};
      if (const std::string text = s.indexed().objects->text(object); !text.empty()) {
        hit["text"] = text;
      }
      found.push_back(std::move(hit));
    }
    entry["found"] = std::move(found);
    all.push_back(std::move(entry));
  }
  files.add_text(o.json_file, to_text(all, 1) + "\n");
}

// A k-NN answer as a range answer with k hits per query.
range_answer as_range(const knn_answer& answer, std::int64_t queries) {
  range_answer list;
  for (std::int64_t q = 0; q <= queries; ++q) list.starts.push_back(q * answer.k);
  list.objects = answer.objects;
  list.distances = answer.distances;
  return list;
}

// A table of the first hits, if no file is named that would have them.
void print_head(const index_search_arguments& o, const session& s, const range_answer& answer,
                const std::string& shape) {
  if (!o.indices.empty() || !o.distances.empty() || !o.starts.empty() || !o.json_file.empty()) {
    return;
  }
  const auto numbers = source_numbers(s.indexed(), answer.objects);
  answer_table table("query", "distances");
  for (std::int64_t q = 0; q < s.queries().count() && table.wants_more(); ++q) {
    const std::int64_t from = answer.starts[static_cast<std::size_t>(q)];
    const std::int64_t to = answer.starts[static_cast<std::size_t>(q) + 1];
    std::vector<shown_hit> first;
    for (std::int64_t at = from; at < std::min(to, from + answer_table::most_columns); ++at) {
      first.push_back(
          {answer.distances[static_cast<std::size_t>(at)], numbers[static_cast<std::size_t>(at)]});
    }
    table.add(to - from, std::move(first));
  }
  fmt::print("{}", table.text(shape, "--indices, --distances and --json FILE write all of them"));
}

radius_plan planned(const index_search_arguments& o, const session& s) {
  if (!s.runs_kernels() || s.indexed().index.kind == index_kind::none) return {};
  if (o.first_radius) {
    require_radius(*o.first_radius);
    if (!(o.radius_step > 0)) {
      throw error(failure::usage, "--first-radius needs --radius-step, more than 0");
    }
    return {*o.first_radius, o.radius_step};
  }
  return train_radius(*s.indexed().in, *s.indexed().objects, s.indexed().index, o.k, s.threads());
}

int knn_search(const index_search_arguments& o) {
  session s(o);
  require_k(o.k, s.indexed().objects->count());
  const radius_plan plan = planned(o, s);
  const knn_answer answer = s.search([&](searcher& with, search_report& report) {
    return with.knn(s.queries(), o.k, plan, report);
  });
  s.prove([&](const std::vector<std::int64_t>& numbers) { return part_of(answer, numbers); });
  const auto numbers = source_numbers(s.indexed(), answer.objects);
  const std::vector<std::int64_t> shape = {s.queries().count(), o.k};
  answer_files files;
  files.add(o.indices, element_type::int64, shape, std::as_bytes(std::span(numbers)));
  files.add(o.distances, element_type::float32, shape, std::as_bytes(std::span(answer.distances)));
  add_json(files, o, s, as_range(answer, s.queries().count()));
  files.commit();
  s.print(static_cast<std::int64_t>(answer.objects.size()));
  print_head(o, s, as_range(answer, s.queries().count()),
             fmt::format("{} x {}", s.queries().count(), o.k));
  return 0;
}

int range_search(const index_search_arguments& o) {
  if ((o.radius < 0) == !(o.share > 0)) {
    throw error(failure::usage, "give either --radius R, 0 or more, or --share S, such as 0.001");
  }
  session s(o);
  const float radius = o.share > 0 ? radius_of_share(*s.indexed().in, *s.indexed().objects,
                                                     s.indexed().index, o.share, s.threads())
                                   : o.radius;
  const range_answer answer = s.search([&](searcher& with, search_report& report) {
    return with.range(s.queries(), radius, report);
  });
  s.prove([&](const std::vector<std::int64_t>& numbers) { return part_of(answer, numbers); },
          radius);
  const auto numbers = source_numbers(s.indexed(), answer.objects);
  const auto hits = static_cast<std::int64_t>(numbers.size());
  answer_files files;
  files.add(o.starts, element_type::int64, std::array{s.queries().count() + 1},
            std::as_bytes(std::span(answer.starts)));
  files.add(o.indices, element_type::int64, std::array{hits}, std::as_bytes(std::span(numbers)));
  files.add(o.distances, element_type::float32, std::array{hits},
            std::as_bytes(std::span(answer.distances)));
  add_json(files, o, s, answer);
  files.commit();
  s.print(hits);
  print_head(o, s, answer, std::to_string(hits));
  return 0;
}

}  // namespace

void add_index_knn(CLI::App& group, action& chosen) {
  CLI::App* const command = group.add_subcommand("knn", "The k nearest objects of each query");
  const auto o = std::make_shared<index_search_arguments>();
  add_search_options(*command, *o);
  command->add_option("--k", o->k, "neighbours of each query")->required();
  option_output(*command, "--indices", o->indices,
                "the objects' numbers, int64 Q x k (.npy), or -");
  command
      ->add_option("--radius-rule", o->radius_rule,
                   "how kernels change the radius of a k-NN search of a list_of_clusters")
      ->check(CLI::IsMember({"increasing", "decreasing"}))
      ->capture_default_str();
  command->add_option(
      "--first-radius", o->first_radius,
      "the first one of an increasing radius; default: learned from training objects");
  command->add_option("--radius-step", o->radius_step, "what each turn adds to it");
  command->callback([&chosen, o] { chosen = [o] { return knn_search(*o); }; });
}

void add_index_range(CLI::App& group, action& chosen) {
  CLI::App* const command = group.add_subcommand("range", "All objects within a radius of queries");
  const auto o = std::make_shared<index_search_arguments>();
  add_search_options(*command, *o);
  command->add_option("--radius", o->radius, "the radius");
  command->add_option(
      "--share", o->share,
      "instead: the radius in which a training object has this share of the objects");
  option_output(*command, "--indices", o->indices, "the objects' numbers, int64 (.npy), or -");
  option_output(
      *command, "--starts", o->starts,
      "query q has the hits STARTS[q] to STARTS[q + 1]: int64, Q + 1 of them (.npy), or -");
  command->callback([&chosen, o] { chosen = [o] { return range_search(*o); }; });
}

}  // namespace kselect::cli
