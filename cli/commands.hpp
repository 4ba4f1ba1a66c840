#pragma once
// The subcommands of `kselect`. Each add_* declares its options and, when the user picks it, sets
// `chosen` to what has to be done; main runs it and turns errors into exit codes.

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "kselect/registry.hpp"

namespace kselect::cli {

using action = std::function<int()>;

void add_list(CLI::App& app, action& chosen);
void add_select(CLI::App& app, action& chosen);
void add_explain(CLI::App& app, action& chosen);
void add_knn(CLI::App& app, action& chosen);
// `arguments` is the command line, which a run records.
void add_run(CLI::App& app, action& chosen, const std::vector<std::string>& arguments);
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
void add_index(CLI::App& app, action& chosen);
// Not for users: what a sweep starts itself as (harness/run/worker.hpp).
void add_worker(CLI::App& app, action& chosen);

// The entry of that name; throws error(failure::usage) with the nearest names.
const registered& require_algorithm(const std::string& name);

// The executor the user named or, for "auto", the GPU where the algorithm and the machine have one,
// else native host code. Never fibers unasked: they prove kernels, they do not compute results.
executor_kind require_executor(const std::string& name, const algorithm& entry);

// Option names and help shared by several commands.
void option_executor(CLI::App& command, std::string& executor);
void option_threads(CLI::App& command, int& threads);

}  // namespace kselect::cli
