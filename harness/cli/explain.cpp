// `kselect explain`: what the entry `auto` would run on a problem, and why.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/backend/backend.hpp"
#include "harness/cli/commands.hpp"
#include "harness/error.hpp"
#include "kselect/choose.hpp"

namespace kselect::cli {
namespace {

struct options {
  problem shape;
  std::string type = "float32", layout = "row_major", payload = "values_and_indices";
  std::string executor = "auto";
  int threads = 0;
  int multiprocessors = 0;
  int shared_kib = 227;
  bool as_json = false;
};

template <class Enum>
Enum value_of(const std::string& option, const std::string& name) {
  for (const auto& entry : names<Enum>) {
    if (entry.name == name) return entry.value;
  }
  throw error(failure::usage, fmt::format("{}: \"{}\" is not known", option, name));
}

// The device asked about: the one here, or a GPU that is described.
device device_of(const options& o, const algorithm& entry) {
  if (o.multiprocessors == 0) {
    return open_backend(require_executor(o.executor, entry), o.threads)->description();
  }
  device d;
  d.kind = executor_kind::cuda;
  d.name = "a GPU as described";
  d.multiprocessors = o.multiprocessors;
  d.shared_bytes = static_cast<std::size_t>(o.shared_kib) << 10;
  return d;
}

std::string device_text(const device& d) {
  if (d.kind == executor_kind::cuda) {
    return fmt::format("{}, {} multiprocessors", d.name, d.multiprocessors);
  }
  return fmt::format("{}, {} thread{}", to_string(d.kind), d.threads, d.threads == 1 ? "" : "s");
}

int explain(options o) {
  problem& p = o.shape;
  p.type = value_of<dtype>("--dtype", o.type);
  p.layout = value_of<layout>("--layout", o.layout);
  p.payload = value_of<payload>("--payload", o.payload);
  p.distribution.kind = distribution_kind::external;
  if (p.k > p.n) {
    throw error(failure::usage, fmt::format("--k {} is more than --n {}", p.k, p.n));
  }
  const device where = device_of(o, *require_algorithm("auto").algorithm);
  const choice c = choose_algorithm(p, where);
  if (c.member == nullptr) {
    throw error(failure::unsupported,
                fmt::format("no member of auto takes {} on {}", to_string(p), device_text(where)));
  }
  const std::size_t workspace = c.member->workspace == nullptr ? 0 : c.member->workspace(p, where);
  if (o.as_json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"problem", to_string(p)},
                                              {"device", device_text(where)},
                                              {"algorithm", c.member->name},
                                              {"reason", c.reason},
                                              {"workspace_bytes", workspace}}
                           .dump(2));
    return 0;
  }
  fmt::print("{}\n  auto runs  {}\n  because    {}\n  on         {}\n  workspace  {} bytes\n",
             to_string(p), c.member->name, c.reason, device_text(where), workspace);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("explain", "Say what `auto` would run on a problem, and why");
  const auto o = std::make_shared<options>();
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 40);
  command->add_option("--n", o->shape.n, "row length")->required()->check(size);
  command->add_option("--q", o->shape.q, "number of rows")->required()->check(size);
  command->add_option("--k", o->shape.k, "how many of each row")->required()->check(size);
  command->add_option("--dtype", o->type, "float32 or float64")->capture_default_str();
  command->add_option("--layout", o->layout, "row_major or column_major")->capture_default_str();
  command->add_option("--payload", o->payload, "values, values_and_indices or kth_value")
      ->capture_default_str();
  option_executor(*command, o->executor);
  option_threads(*command, o->threads);
  command->add_option("--multiprocessors", o->multiprocessors,
                      "of a GPU that is not here: its multiprocessors");
  command
      ->add_option("--shared-kib", o->shared_kib,
                   "with --multiprocessors: KiB of shared memory a block may have")
      ->capture_default_str();
  command->add_flag("--json", o->as_json, "as JSON");
  command->callback([&chosen, o] { chosen = [o] { return explain(*o); }; });
}

}  // namespace kselect::cli
