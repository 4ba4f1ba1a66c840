// `kselect merge` and `kselect progress` handle a sweep that several machines run in shards.

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "harness/record/journal.hpp"
#include "harness/shards/merge.hpp"
#include "harness/shards/recorded_shard.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

struct merge_options {
  std::vector<std::string> directories;
  std::string out;
  bool partial = false;
};

int merge(const merge_options& o) {
  const shards::merge_result result =
      shards::merge({.directories = {o.directories.begin(), o.directories.end()},
                     .out = o.out,
                     .partial = o.partial});
  for (const std::string& note : result.notes) print_message("kselect: {}\n", one_line(note));
  for (const shards::merged_run& run : result.runs) {
    fmt::print("records: {}: {}{} from {}\n", run.directory.string(), amount_of(run.cells, "cell"),
               run.failed == 0 ? "" : fmt::format(", {} of them failed,", run.failed),
               fmt::join(run.hosts, ", "));
  }
  const bool failed =
      std::ranges::any_of(result.runs, [](const auto& run) { return run.failed != 0; });
  return failed ? static_cast<int>(failure::cells) : 0;
}

std::string since_last_record(const std::filesystem::path& directory) {
  std::error_code unknown;
  const auto written = std::filesystem::last_write_time(journal_in(directory), unknown);
  if (unknown) return "never";
  const auto ago = std::filesystem::file_time_type::clock::now() - written;
  return fmt::format("{} s ago", std::chrono::duration_cast<std::chrono::seconds>(ago).count());
}

int show_progress(const std::vector<std::string>& directories) {
  bool all_complete = true;
  std::size_t done = 0, planned = 0;
  for (const std::string& directory : directories) {
    const shards::recorded_shard s = shards::read_shard(directory);
    const auto settled = static_cast<std::size_t>(
        std::ranges::count_if(s.lines, [](const auto& l) { return shards::is_settled(l.status); }));
    const std::string state = s.meta.value("state", "unknown");
    all_complete = all_complete && state == "complete";
    const std::size_t of = std::max(s.planned, s.lines.size());
    fmt::print("shard {}/{}  {:>5} of {}  {:<11}  {} failed  last record {}  {}  {}\n",
               s.which.index, s.which.count, s.lines.size(), amount_of(of, "cell"), state,
               s.lines.size() - settled, since_last_record(directory), s.host(), directory);
    done += s.lines.size();
    planned += of;
  }
  fmt::print("{} of {}\n", done, amount_of(planned, "cell"));
  return all_complete ? 0 : static_cast<int>(failure::cells);
}

}  // namespace

void add_merge(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "merge", "Make one run for each kind of machine from the shards of a sweep");
  const auto o = std::make_shared<merge_options>();
  command->add_option("DIRECTORIES", o->directories, "the --out of every shard")
      ->required()
      ->type_name("DIR");
  command->add_option("--out", o->out, "directory for the runs, one folder a kind of machine")
      ->required()
      ->type_name("DIR");
  command->add_flag("--partial", o->partial, "accept missing and unfinished shards");
  command->callback([&chosen, o] { chosen = [o] { return merge(*o); }; });
}

void add_progress(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "progress", "How far the shards of a sweep are, from their records; 1 if not all complete");
  const auto directories = std::make_shared<std::vector<std::string>>();
  command->add_option("DIRECTORIES", *directories, "the --out of every shard")
      ->required()
      ->type_name("DIR");
  command->callback(
      [&chosen, directories] { chosen = [directories] { return show_progress(*directories); }; });
}

}  // namespace kselect::cli
