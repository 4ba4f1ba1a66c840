// `kselect export` writes a recorded run in other programs' formats.

#include <array>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "harness/export/exports.hpp"
#include "harness/record/journal.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

struct export_arguments {
  std::string run, format, output;
};

job_files files_of(const export_arguments& o) {
  const bool is_directory = std::filesystem::is_directory(o.run);
  const std::filesystem::path directory =
      is_directory ? std::filesystem::path(o.run) : std::filesystem::path(o.run).parent_path();
  const std::array<named_file, 2> inputs = {
      {{"the run's journal", is_directory ? journal_in(o.run) : std::filesystem::path(o.run)},
       {"the run's meta.json", directory / "meta.json"}}};
  const std::array<named_file, 1> outputs = {{{"--output", o.output, true}}};
  return job_files(inputs, outputs);
}

int export_run(const export_arguments& o) {
  const job_files held = files_of(o);
  const compare::recorded_run run = compare::read_run(o.run);
  const std::string text = o.format == "gbench"    ? gbench_export(run)
                           : o.format == "nvbench" ? nvbench_export(run)
                           : o.format == "ci"      ? ci_export(run)
                           : o.format == "csv"     ? csv_export(run)
                                                   : markdown_export(run);
  for (const std::string& note : run.notes) print_message("kselect: {}\n", one_line(note));
  if (o.output.empty()) {
    fmt::print("{}", text);
  } else {
    atomic_file file(o.output, stream_targets::allowed);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("export", "A recorded run in the format of another program");
  const auto o = std::make_shared<export_arguments>();
  command->add_option("RUN", o->run, "directory of the run")->required()->type_name("DIR");
  command
      ->add_option("--format", o->format,
                   "for Google Benchmark's tools (gbench), for nvbench's (nvbench), for "
                   "customSmallerIsBetter (ci), or a table")
      ->required()
      ->check(CLI::IsMember({"gbench", "nvbench", "ci", "csv", "markdown"}));
  option_output(*command, "--output", o->output, "file to write instead of standard output");
  command->callback([&chosen, o] { chosen = [o] { return export_run(*o); }; });
}

}  // namespace kselect::cli
