#include "harness/shards/recorded_shard.hpp"

#include <unordered_map>

#include <fmt/format.h>

#include "harness/record/journal.hpp"
#include "harness/record/meta.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::shards {
namespace {

using json = nlohmann::ordered_json;

json meta_of_shard(const std::filesystem::path& file) {
  json meta = read_meta(file);
  if (meta.contains("config")) return meta;
  throw error(failure::input,
              fmt::format("{}: is no record of a run; name the --out of a shard", file.string()));
}

std::string title_of(const json& record) {
  const json& p = record.at("problem");
  return fmt::format(
      "{} on {} n={} Q={} k={} {}", record.at("algorithm").at("name").get<std::string>(),
      record.at("executor").get<std::string>(), runtime::whole<std::int64_t>(p.at("n")),
      runtime::whole<std::int64_t>(p.at("q")), runtime::whole<std::int64_t>(p.at("k")),
      p.at("distribution").get<std::string>());
}

recorded_line line_of(const std::filesystem::path& file, const record_line& line) {
  const json record = parse_json(line.text, "the record");
  const auto status = parse<cell_status>(record.at("status").get<std::string>());
  if (!status) throw error(failure::input, "unknown status " + record.at("status").dump());
  return {.key = record.at("key"),
          .status = *status,
          .title = title_of(record),
          .cell = fmt::format("{} {} {}", record.at("algorithm").at("name").dump(),
                              record.at("executor").dump(), record.at("problem").dump()),
          .place = fmt::format("{}:{}", file.string(), line.line),
          .text = line.text};
}

}  // namespace

bool is_settled(cell_status status) {
  return status == cell_status::ok || status == cell_status::unsupported;
}

std::string recorded_shard::name() const {
  if (which.count == 1) return directory.string();
  return fmt::format("{} (shard {}/{})", directory.string(), which.index, which.count);
}

std::string recorded_shard::host() const {
  return meta.value("/host/name"_json_pointer, std::string("unknown"));
}

json recorded_shard::machine() const {
  const auto fact = [](const json& from, const char* name) {
    return from.is_object() && from.contains(name) ? from.at(name) : json();
  };
  const json host = fact(meta, "host");
  json facts = {{"cpu", fact(host, "cpu")}, {"threads", fact(host, "threads")}};
  facts["gpus"] = json::array();
  for (const json& gpu : fact(meta, "gpu")) {
    facts["gpus"].push_back({{"name", fact(gpu, "name")}, {"driver", fact(gpu, "driver")}});
  }
  return facts;
}

recorded_shard read_shard(const std::filesystem::path& directory) {
  recorded_shard found;
  found.directory = directory;
  found.meta = meta_of_shard(directory / "meta.json");
  if (const auto plan = found.meta.find("plan"); plan != found.meta.end()) {
    found.which = {plan->at("shard"), plan->at("of")};
    found.plan = plan->at("hash");
    found.planned = plan->at("cells");
    found.cells_of_all = plan->at("cells_of_all");
    found.predicted_us = plan->at("predicted_us");
  }
  const std::filesystem::path file = journal_in(directory);
  std::unordered_map<std::string, std::size_t> place;
  for (const record_line& raw : read_journal(file).records) {
    recorded_line line;
    try {
      line = line_of(file, raw);
    } catch (const std::exception& problem) {
      throw error(failure::input,
                  fmt::format("{}:{}: {}", file.string(), raw.line, runtime::reason_of(problem)));
    }
    const auto [at, first] = place.try_emplace(line.key, found.lines.size());
    if (first) {
      found.lines.push_back(std::move(line));
    } else if (is_settled(line.status) || !is_settled(found.lines[at->second].status)) {
      found.lines[at->second] = std::move(line);
    }
  }
  return found;
}

}  // namespace kselect::harness::shards
