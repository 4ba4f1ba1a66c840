#pragma once
// The subcommands of `kselect`. Each add_* declares its options. If the user picks the command, it
// sets `chosen` to its work; main runs it and turns errors into exit codes.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "runtime/io/job_files.hpp"

namespace kselect::cli {

using action = std::function<int()>;

void add_list(CLI::App& app, action& chosen);
void add_select(CLI::App& app, action& chosen);
void add_explain(CLI::App& app, action& chosen);
void add_knn(CLI::App& app, action& chosen);
// `knn` has its options already.
void add_knn_prepare(CLI::App& knn, action& chosen);
// `arguments` is the command line, which a run records.
void add_run(CLI::App& app, action& chosen, const std::vector<std::string>& arguments);
void add_bench(CLI::App& app, action& chosen, const std::vector<std::string>& arguments);
void add_show(CLI::App& app, action& chosen);
void add_tune(CLI::App& app, action& chosen, const std::vector<std::string>& arguments);
void add_merge(CLI::App& app, action& chosen);
void add_progress(CLI::App& app, action& chosen);
void add_doctor(CLI::App& app, action& chosen);
void add_compare(CLI::App& app, action& chosen);
void add_noise(CLI::App& app, action& chosen);
void add_ab(CLI::App& app, action& chosen);
void add_export(CLI::App& app, action& chosen);
void add_counters(CLI::App& app, action& chosen);
void add_generate(CLI::App& app, action& chosen);
void add_prove(CLI::App& app, action& chosen);
void add_plot(CLI::App& app, action& chosen);
void add_report(CLI::App& app, action& chosen);
void add_board(CLI::App& app, action& chosen);
void add_history(CLI::App& app, action& chosen);
void add_index(CLI::App& app, action& chosen);
void add_test(CLI::App& app, action& chosen);
void add_new(CLI::App& app, action& chosen);
// Internal: a sweep starts its worker processes with this command (harness/run/worker.hpp).
void add_worker(CLI::App& app, action& chosen);

// The entry of that name. Throws error(failure::usage), with the nearest names, if there is none.
const registered& require_algorithm(const std::string& name);

// What to do about an entry that this build left out.
std::string left_out_message(const std::string& name);

// The names in a set, such as the executors of an entry.
template <class Enum>
std::vector<std::string> members(enum_set<Enum> set) {
  std::vector<std::string> list;
  for (const auto& entry : names<Enum>) {
    if (set.contains(entry.value)) list.emplace_back(entry.name);
  }
  return list;
}

// The executor that the user named. For "auto", the GPU if algorithm and machine support it, else
// native host code; never fibers, which prove kernels but are too slow for results.
executor_kind require_executor(const std::string& name, const algorithm& entry);

// These errors say which executors there are.
error not_written_for(std::string_view name, const std::string& executor,
                      enum_set<executor_kind> has);
void require_available(executor_kind kind, enum_set<executor_kind> has);

// Options with the same name and help in several commands.
void option_algorithm(CLI::App& command, std::string& algorithm);
void option_executor(CLI::App& command, std::string& executor);
// Plug-ins whose entries the command may name. program() loads them before it runs the command.
void option_plugins(CLI::App& command);
// What the options gave.
std::vector<std::string>& given_plugins();
void option_threads(CLI::App& command, int& threads);
// The cells of a sweep or a record. `what` begins the help: what is done with these alone.
CLI::Option* option_filter(CLI::App& command, std::string& filter,
                           const std::string& what = "only");
// A file to write, under the heading "Output".
CLI::Option* option_output(CLI::App& command, const std::string& name, std::string& file,
                           const std::string& what);

// Headings of options in help.
inline constexpr char output_group[] = "Output";
inline constexpr char place_group[] = "How and where it runs";

// Prints on standard output, or on standard error if an output file is standard output.
void say_beside(std::span<const named_file> outputs, const std::string& text);

}  // namespace kselect::cli
