// `kselect index`: metric indexes over vectors and words. This file builds and describes them;
// index_search.cpp searches them.

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/index_commands.hpp"
#include "cli/job_progress.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/stream.hpp"
#include "runtime/io/vectors.hpp"
#include "search/metric/hold_out.hpp"
#include "search/metric/index_file.hpp"
#include "search/metric/index_json.hpp"
#include "search/metric/metrics/euclidean.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/stand_ins.hpp"
#include "search/seconds.hpp"

namespace kselect::cli {
namespace {

using namespace metric_space;
using json = nlohmann::ordered_json;

constexpr std::int64_t histogram_pairs = 100000;

struct build_options {
  std::string metric, objects, kind, file, held_out;
  std::string executor = "auto";
  std::int64_t cluster_size = 64;
  std::optional<float> cluster_radius;  // instead of the size
  double hold_out = 0;
  pivot_rule pivots{.alpha = 0.5};
  std::uint64_t seed = 1;
  int threads = 0;
};

indexed_objects load_objects(const build_options& o) {
  if ((o.hold_out != 0) == o.held_out.empty()) {
    throw error(
        failure::usage,
        "--hold-out SHARE and --queries FILE, where the objects held out go, need each other");
  }
  indexed_objects loaded;
  loaded.in = &find_space(o.metric);
  loaded.source = std::filesystem::path(input_name(o.objects)).filename().string();
  loaded.objects = loaded.in->load(o.objects);
  if (o.hold_out == 0) return loaded;
  const split parts = hold_out(loaded.objects->count(), o.hold_out, o.seed);
  loaded.objects->gather(parts.held_out)->save(o.held_out);
  loaded.objects = loaded.objects->gather(parts.kept);
  loaded.numbers = parts.kept;
  return loaded;
}

}  // namespace

std::string objects_text(const indexed_objects& indexed) {
  // The metric names them in the plural.
  std::string_view one = indexed.in->objects_name();
  one.remove_suffix(1);
  return amount_of(indexed.objects->count(), one);
}

namespace {

std::string described(const indexed_objects& x) {
  const std::string of = fmt::format("{} under {}", objects_text(x), x.in->metric_name());
  switch (x.index.kind) {
    case index_kind::list_of_clusters: {
      const cluster_list& list = x.index.clusters;
      return fmt::format("{}: {} of {}", of, amount_of(list.clusters(), "cluster"),
                         list.has_fixed_size()
                             ? std::to_string(list.cluster_size)
                             : fmt::format("radius {:.6g}", list.covering_radius));
    }
    case index_kind::sss:
      return fmt::format("{}: {}, alpha {}, diameter {:.6g}", of,
                         amount_of(x.index.pivots.count(), "pivot"), x.index.pivots.alpha,
                         x.index.pivots.diameter);
    default:
      return of + ": no index";
  }
}

index_data built(const build_options& o, const indexed_objects& of, backend& place,
                 job_progress& shown) {
  index_data index{.kind = parse<index_kind>(o.kind).value(), .clusters = {}, .pivots = {}};
  if (index.kind == index_kind::list_of_clusters) {
    index.clusters =
        o.cluster_radius
            ? of.in->build_clusters_within(*of.objects, *o.cluster_radius, place, &shown)
            : of.in->build_clusters(*of.objects, o.cluster_size, place, &shown);
  } else if (index.kind == index_kind::sss) {
    index.pivots = of.in->build_pivots(*of.objects, o.pivots, place, &shown);
  }
  return index;
}

int build(const build_options& o) {
  const std::array<named_file, 1> inputs = {{{"--objects", container_of(o.objects), true}}};
  const std::array<named_file, 2> outputs = {{{"--index", o.file}, {"--queries", o.held_out}}};
  const job_files held(inputs, outputs);
  const auto place = open_backend(index_executor(o.executor), o.threads);
  indexed_objects made = load_objects(o);
  require_room(o.file, *made.objects);
  const seconds_since start;
  {
    job_progress shown("objects", "no index was written");
    shown.begin("indexed", made.objects->count());
    made.index = built(o, made, *place, shown);
  }
  const double taken = start.get();
  write_index_file(o.file, made);
  const distance_histogram h = sample_distances(*made.in, *made.objects, histogram_pairs, o.seed);
  fmt::print("{}; built in {:.3g} s; intrinsic dimension {:.2f}\n", described(made), taken,
             h.intrinsic_dimension());
  return 0;
}

struct info_options {
  std::string file;
  bool as_json = false;
};

int info(const info_options& o) {
  const indexed_objects x = read_index_file(o.file);
  const distance_histogram h = sample_distances(*x.in, *x.objects, histogram_pairs, 1);
  if (!o.as_json) {
    fmt::print("{}\nfrom {}, intrinsic dimension {:.2f} (mean distance {:.6g}, variance {:.6g})\n",
               described(x), x.source, h.intrinsic_dimension(), h.mean, h.variance);
    return 0;
  }
  json about = index_json(x);
  about["held_out"] = !x.numbers.empty();
  about["mean_distance"] = h.mean;
  about["variance"] = h.variance;
  about["intrinsic_dimension"] = h.intrinsic_dimension();
  fmt::print("{}\n", about.dump(2, ' ', false, json::error_handler_t::replace));
  return 0;
}

struct generate_options {
  std::string name, file;
  std::int64_t count = 0;
  std::uint64_t seed = 1;
};

int generate_stand_in(const generate_options& o) {
  const std::array<named_file, 1> outputs = {{{"--output", o.file}}};
  const job_files own({}, outputs);
  const auto what = std::ranges::find(stand_ins, o.name, &stand_in::name);
  const std::int64_t count = o.count == 0 ? what->count : o.count;
  const euclidean::set vectors(generate(*what, count, o.seed, 1), count, what->dimension);
  euclidean::save(vectors, o.file);
  const set_holder<euclidean> held(vectors);
  const distance_histogram h =
      sample_distances(find_space("euclidean"), held, histogram_pairs, o.seed);
  fmt::print("{} of dimension {}; intrinsic dimension {:.2f}, stated {}\n",
             amount_of(count, "vector"), what->dimension, h.intrinsic_dimension(),
             what->intrinsic_dimension);
  return 0;
}

// An option of one kind of index.
struct kind_option {
  const CLI::Option* option;
  index_kind kind;
};

// What an index of each kind is built with.
std::vector<kind_option> add_kind_options(CLI::App& command, build_options& o) {
  CLI::Option* const size =
      command
          .add_option("--cluster-size", o.cluster_size, "list_of_clusters: members of a cluster")
          ->capture_default_str();
  const CLI::Option* const radius =
      command
          .add_option("--cluster-radius", o.cluster_radius,
                      "list_of_clusters: instead, all objects within this radius make a cluster")
          ->excludes(size);
  const CLI::Option* const alpha =
      command
          .add_option("--alpha", o.pivots.alpha, "sss: pivots are this share of the diameter apart")
          ->capture_default_str();
  const CLI::Option* const diameter = command.add_option(
      "--diameter", o.pivots.diameter, "sss: the greatest distance between objects; 0: estimated");
  const CLI::Option* const most =
      command.add_option("--pivots", o.pivots.most,
                         "sss: takes only this many of the selected pivots, the first; 0: all");
  return {{size, index_kind::list_of_clusters},
          {radius, index_kind::list_of_clusters},
          {alpha, index_kind::sss},
          {diameter, index_kind::sss},
          {most, index_kind::sss}};
}

// Throws a usage error for a given option that the index to build would ignore.
void require_use(const std::vector<kind_option>& options, index_kind kind) {
  for (const kind_option& o : options) {
    if (o.kind == kind || o.option->count() == 0) continue;
    throw error(failure::usage,
                fmt::format("{} is for --kind {}, not {}; leave it out", o.option->get_name(),
                            to_string(o.kind), to_string(kind)));
  }
}

void add_build(CLI::App& group, action& chosen) {
  CLI::App* const command = group.add_subcommand("build", "Index objects, and write the index");
  const auto o = std::make_shared<build_options>();
  std::vector<std::string> metrics, kinds;
  for (const space* s : spaces()) metrics.emplace_back(s->metric_name());
  for (const auto& kind : names<index_kind>) kinds.emplace_back(kind.name);
  command->add_option("--metric", o->metric, "distance")->required()->check(CLI::IsMember(metrics));
  command
      ->add_option("OBJECTS,--objects", o->objects,
                   "vectors: .npy, .fvecs, idx, ... as for `kselect knn`; words: a line each, "
                   "UTF-8; - is standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("INDEX,--index", o->file, "where to write the index")
      ->required()
      ->type_name("FILE");
  command->add_option("--kind", o->kind, "index; none: exhaustive search")
      ->required()
      ->check(CLI::IsMember(kinds));
  const std::vector<kind_option> of_kinds = add_kind_options(*command, *o);
  command->add_option("--hold-out", o->hold_out, "share of the objects to keep back as queries");
  command->add_option("--queries", o->held_out, "where to write the objects held out")
      ->type_name("FILE");
  command->add_option("--seed", o->seed, "of what is held out")->capture_default_str();
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command->callback([&chosen, o, of_kinds] {
    require_use(of_kinds, parse<index_kind>(o->kind).value());
    chosen = [o] { return build(*o); };
  });
}

void add_info(CLI::App& group, action& chosen) {
  CLI::App* const command = group.add_subcommand("info", "What an index holds");
  const auto o = std::make_shared<info_options>();
  command->add_option("INDEX,--index", o->file, "index file of `kselect index build`")
      ->required()
      ->type_name("FILE");
  command->add_flag("--json", o->as_json, "as JSON");
  command->callback([&chosen, o] { chosen = [o] { return info(*o); }; });
}

void add_stand_in(CLI::App& group, action& chosen) {
  CLI::App* const command =
      group.add_subcommand("generate", "Stand-ins for databases that are not published");
  const auto o = std::make_shared<generate_options>();
  std::vector<std::string> known;
  std::string help;
  for (const stand_in& s : stand_ins) {
    known.emplace_back(s.name);
    help += fmt::format("{}{}: for {}", help.empty() ? "" : "; ", s.name, s.stands_for);
  }
  command->add_option("NAME", o->name, help)->required()->check(CLI::IsMember(known));
  option_output(*command, "--output", o->file, "the vectors (.npy)")->required();
  command->add_option("--count", o->count, "vectors; 0: as many as the database has")
      ->check(CLI::Range(std::int64_t{0}, most_objects));
  command->add_option("--seed", o->seed, "another seed, other vectors")->capture_default_str();
  command->callback([&chosen, o] { chosen = [o] { return generate_stand_in(*o); }; });
}

}  // namespace

executor_kind index_executor(const std::string& name) {
  if (name == "auto") {
    return why_unavailable(executor_kind::cuda).empty() ? executor_kind::cuda : executor_kind::cpu;
  }
  const executor_kind kind = parse<executor_kind>(name).value();
  require_available(kind, set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda));
  return kind;
}

void add_index(CLI::App& app, action& chosen) {
  CLI::App* const group =
      app.add_subcommand("index", "k-NN and range search in metric spaces, with an index");
  group->require_subcommand(1);
  add_build(*group, chosen);
  add_info(*group, chosen);
  add_index_knn(*group, chosen);
  add_index_range(*group, chosen);
  add_stand_in(*group, chosen);
}

}  // namespace kselect::cli
