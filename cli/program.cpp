// The command line. Results go to stdout. Errors go to stderr as one line. Exit codes are those of
// runtime/error.hpp.

#include "cli/program.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/help/help_commands.hpp"
#include "cli/help/help_text.hpp"
#include "cli/help/usage_error.hpp"
#include "cli/leave.hpp"
#include "harness/tune/own_table.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/io/mapped_file.hpp"
#include "runtime/plugins/plugins.hpp"
#include "runtime/stack.hpp"
#include "runtime/streams.hpp"
#include "search/task/tasks.hpp"

namespace {

using namespace kselect::runtime;

int report(int code, std::string_view what) {
  std::fflush(stdout);
  print_message("kselect: {}\n", one_line(what));
  return code;
}

// What the program expects of the process that started it.
void prepare_process() {
  reserve_standard_descriptors();
  // A file that would grow beyond `ulimit -f` is then an error of its write.
  std::signal(SIGXFSZ, SIG_IGN);
}

void add_commands(CLI::App& app, kselect::cli::action& chosen, int argc, char** argv) {
  kselect::cli::add_list(app, chosen);
  kselect::cli::add_select(app, chosen);
  kselect::cli::add_explain(app, chosen);
  kselect::cli::add_knn(app, chosen);
  kselect::cli::add_run(app, chosen, {argv, argv + argc});
  kselect::cli::add_bench(app, chosen, {argv, argv + argc});
  kselect::cli::add_show(app, chosen);
  kselect::cli::add_tune(app, chosen, {argv, argv + argc});
  kselect::cli::add_merge(app, chosen);
  kselect::cli::add_progress(app, chosen);
  kselect::cli::add_doctor(app, chosen);
  kselect::cli::add_compare(app, chosen);
  kselect::cli::add_noise(app, chosen);
  kselect::cli::add_ab(app, chosen);
  kselect::cli::add_export(app, chosen);
  kselect::cli::add_plot(app, chosen);
  kselect::cli::add_report(app, chosen);
  kselect::cli::add_board(app, chosen);
  kselect::cli::add_history(app, chosen);
  kselect::cli::add_counters(app, chosen);
  kselect::cli::add_generate(app, chosen);
  kselect::cli::add_prove(app, chosen);
  kselect::cli::add_index(app, chosen);
  kselect::cli::add_test(app, chosen);
  kselect::cli::add_new(app, chosen);
  kselect::cli::add_help(app, chosen);
  kselect::cli::add_worker(app, chosen);
}

int run(int argc, char** argv) {
  CLI::App app{"k-selection: the k smallest of each row, side by side, proven and timed",
               "kselect"};
  app.set_version_flag("--version", version_line());
  app.formatter(kselect::cli::help::formatter());
  app.require_subcommand(1);
  kselect::search::add_search_tasks();
  kselect::cli::action chosen;
  add_commands(app, chosen, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() != 0) {
      throw error(failure::usage, kselect::cli::help::usage_error(app, problem));
    }
    app.exit(problem);  // prints the help or the version
    std::cout.flush();
    finish_standard_output();
    return 0;
  }
  if (const std::string wrong = kselect::cli::help::unusable_value(app); !wrong.empty()) {
    throw error(failure::usage, wrong);
  }
  for (const std::string& file : kselect::cli::given_plugins()) load_plugin(file);
  kselect::harness::tune::use_own_table();
  const int code = chosen();
  finish_standard_output();
  return code;
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const error& failed) {
    // Whatever followed from it, the reason is the input that another process cut.
    const std::string cut = mapped_file::cut_file();
    if (!cut.empty()) return report(static_cast<int>(failure::input), cut_message(cut));
    return report(failed.exit_code(), failed.what());
  } catch (const std::bad_alloc&) {
    return report(static_cast<int>(failure::resources), "out of memory; use fewer or shorter rows");
  } catch (const std::filesystem::filesystem_error& unusable) {
    return report(static_cast<int>(failure::output), unusable.what());
  } catch (const std::exception& unexpected) {
    if (std::ferror(stdout) != 0) {
      return report(static_cast<int>(failure::output),
                    fmt::format("standard output: {}", unexpected.what()));
    }
    return report(70, fmt::format("internal error: {}", unexpected.what()));
  }
}

}  // namespace

int kselect::cli::program(int argc, char** argv) {
  prepare_process();
  watch_exit();
  const int code = on_large_stack([&] { return guarded(argc, argv); });
  work_is_done();
  return code;
}
