#include "harness/run/worker_setup.hpp"

#include <nlohmann/json.hpp>

#include "harness/run/worker.hpp"

namespace kselect {
namespace {

using json = nlohmann::ordered_json;

json to_json(const std::optional<std::string>& text) { return text ? json(*text) : json(); }

std::optional<std::string> text_from(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

}  // namespace

worker_setup::worker_setup(const std::string& line) {
  const json setup = json::parse(line);
  config = parse_config(setup.at("config").dump(), setup.at("file"));
  for (const auto& [name, value] : setup.at("ceilings").items()) {
    ceilings[parse<executor_kind>(name).value()] = ceilings_from(value);
  }
  const std::optional<std::string> name = text_from(setup.at("executor"));
  const auto executor = name ? parse<executor_kind>(*name) : std::nullopt;
  const int threads = config.measure.threads;
  input = open_input(config, text_from(setup.at("dataset")), threads, executor);
  places = std::make_unique<backends>(threads);
  cells = plan_cells({config, *input, executor, text_from(setup.at("filter"))}, *places);
}

std::string setup_line(const sweep_request& request,
                       const std::map<executor_kind, memory_ceilings>& ceilings) {
  json known = json::object();
  for (const auto& [kind, value] : ceilings) {
    known[std::string(to_string(kind))] = kselect::to_json(value);
  }
  return json{{"config", resolved_json(request.config)},
              {"file", request.config.file_name},
              {"dataset", to_json(request.dataset)},
              {"filter", to_json(request.filter)},
              {"executor", request.executor ? json(to_string(*request.executor)) : json()},
              {"ceilings", std::move(known)}}
      .dump();
}

}  // namespace kselect
