// `kselect plot`, `report`, `board` and `history` run the Python side (plots/), with an interpreter
// that has what it needs.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "runtime/error.hpp"
#include "source_tree.hpp"

namespace kselect::cli {
namespace {

bool has_python_side(const std::filesystem::path& folder) {
  std::error_code none;
  return std::filesystem::exists(folder / "plots" / "__main__.py", none);
}

// The folder that has plots/: of an installed program PREFIX/share/kselect, even if PREFIX is in a
// source tree; else a folder above the program; else the tree that it was built from.
std::filesystem::path python_side() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path installed = self.parent_path().parent_path() / "share" / "kselect";
  if (has_python_side(installed)) return installed;
  for (std::filesystem::path at = self.parent_path(); at != at.root_path(); at = at.parent_path()) {
    if (has_python_side(at)) return at;
  }
  if (has_python_side(source_tree)) return source_tree;
  throw error(failure::unsupported,
              fmt::format("the Python side (plots/) is neither in {} nor above {} nor in {}; "
                          "install the program with `cmake --install`, or run it in its tree",
                          installed.string(), self.string(), source_tree));
}

// Starts `arguments`, searched on PATH, in place of this program. Returns errno if it cannot.
int replace_by(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  std::fflush(nullptr);
  execvp(words.front(), words.data());
  return errno;
}

// Whether the interpreter is new enough and has the packages, named in Python's list syntax.
bool suits(const std::string& python, const std::string& packages) {
  const pid_t child = fork();
  if (child == 0) {
    // What it writes is of no interest: a message would be about another interpreter than the last.
    if (std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen("/dev/null", "w", stderr) == nullptr) {
      _exit(1);
    }
    replace_by(
        {python, "-P", "-c",
         fmt::format("import sys, importlib.util as u; sys.exit(sys.version_info < (3, 11) or "
                     "any(u.find_spec(p) is None for p in {}))",
                     packages)});
    _exit(1);
  }
  int ended = 0;
  while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

// The tree's own environment, $KSELECT_PYTHON, python3: the first that suits.
std::string interpreter(const std::filesystem::path& tree, const std::string& packages) {
  std::vector<std::string> candidates = {(tree / ".venv" / "bin" / "python").string()};
  if (const char* const named = std::getenv("KSELECT_PYTHON"); named != nullptr && *named != 0) {
    candidates.emplace_back(named);
  }
  candidates.emplace_back("python3");
  for (const std::string& candidate : candidates) {
    if (suits(candidate, packages)) return candidate;
  }
  throw error(failure::unsupported,
              fmt::format("no Python 3.11 with {} here; install it: python3 -m venv {}/.venv && "
                          "{}/.venv/bin/pip install -r {}/plots/requirements.txt (or set "
                          "KSELECT_PYTHON)",
                          packages == "[]" ? "its standard library" : "matplotlib", tree.string(),
                          tree.string(), tree.string()));
}

// Runs a module of the Python side. It does not return unless it fails: Python's exit code is ours.
int run_module(const char* command, const char* module, const std::string& packages,
               const std::vector<std::string>& arguments) {
  const std::filesystem::path tree = python_side();
  std::vector<std::string> words = {interpreter(tree, packages), "-P", "-m", "plots.start", module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const char* const before = std::getenv("PYTHONPATH");
  const std::string search =
      tree.string() + (before != nullptr && *before != 0 ? ":" + std::string(before) : "");
  setenv("PYTHONPATH", search.c_str(), 1);
  setenv("KSELECT_COMMAND", command, 1);  // how messages name the command (plots/errors.py)
  throw error(failure::unsupported,
              fmt::format("{}: {}", words.front(), std::strerror(replace_by(words))));
}

// The options of a command, passed on as they were given.
struct passed_on {
  std::vector<std::string> runs;
  std::optional<std::string> out, baseline, program, source, alpha, threshold, format;
  std::vector<std::string> figures;
  bool all = false, list = false, cells = false;

  std::vector<std::string> arguments() const {
    std::vector<std::string> words;
    for (const auto& [option, value] :
         {std::pair{"--out", out}, std::pair{"--baseline", baseline},
          std::pair{"--program", program}, std::pair{"--source", source},
          std::pair{"--alpha", alpha}, std::pair{"--threshold", threshold},
          std::pair{"--format", format}}) {
      // One word, because a value may begin with a dash.
      if (value) words.push_back(fmt::format("{}={}", option, *value));
    }
    for (const std::string& figure : figures) words.push_back("--figure=" + figure);
    if (all) words.emplace_back("--all");
    if (list) words.emplace_back("--list");
    if (cells) words.emplace_back("--cells");
    words.emplace_back("--");
    words.insert(words.end(), runs.begin(), runs.end());
    return words;
  }
};

}  // namespace

void add_plot(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "plot", "Draw recorded runs: at most ten figures, and a page that lists them");
  const auto o = std::make_shared<passed_on>();
  command->add_option("RUN", o->runs, "directories of runs, each with runs.jsonl and meta.json")
      ->type_name("DIR");
  command->add_option("--out", o->out, "folder of the figures and of index.html [out/figures]");
  command->add_option("--figure", o->figures, "draw this kind alone; may be repeated (--list)")
      ->allow_extra_args(false);  // a run follows
  command->add_option("--baseline", o->baseline, "algorithm that speed-ups compare with");
  command->add_flag("--all", o->all, "draw all figures, not the ten that say most");
  command->add_flag("--list", o->list, "list the kinds of figures and stop");
  command->callback([&chosen, o] {
    chosen = [o] {
      return run_module("kselect plot", "plots", "['matplotlib', 'numpy', 'PIL']", o->arguments());
    };
  });
}

void add_report(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "report", "Write a recorded run as one HTML file: the answer, table, plots, environment");
  const auto o = std::make_shared<passed_on>();
  command->add_option("RUN", o->runs, "directory of the run")
      ->required()
      ->expected(1)
      ->type_name("DIR");
  command->add_option("--out", o->out, "the file to write [RUN/report.html]");
  command->add_option("--baseline", o->baseline, "algorithm that the headline compares with");
  command->callback([&chosen, o] {
    chosen = [o] { return run_module("kselect report", "plots.report", "[]", o->arguments()); };
  });
}

void add_board(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "board", "Make a static site of all recorded runs: the answer, maps, curves, leaderboards");
  const auto o = std::make_shared<passed_on>();
  command->add_option("RUNS", o->runs, "directories of runs, or folders of them")
      ->required()
      ->type_name("DIR");
  command->add_option("--out", o->out, "folder of the site [out/board]")->type_name("DIR");
  command
      ->add_option("--program", o->program, "kselect whose list says what entries promise [this]")
      ->type_name("FILE");
  command->add_option("--source", o->source, "where source files are [copies in the site]")
      ->type_name("URL");
  command->callback([&chosen, o] {
    chosen = [o] {
      if (!o->program) o->program = std::filesystem::read_symlink("/proc/self/exe").string();
      return run_module("kselect board", "plots.board", "['matplotlib', 'numpy', 'PIL']",
                        o->arguments());
    };
  });
}

void add_history(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "history", "Find slow drifts over stored runs of one config, and since which commit");
  const auto o = std::make_shared<passed_on>();
  command->add_option("RUNS", o->runs, "directories of runs, or folders of them")
      ->required()
      ->type_name("DIR");
  command->add_option("--alpha", o->alpha, "share of reported changes that may be false [0.05]")
      ->type_name("P");
  command->add_option("--threshold", o->threshold, "smallest change that is reported [2%]")
      ->type_name("SHARE");
  command->add_flag("--cells", o->cells, "test each cell, too, not algorithms alone");
  command->add_option("--format", o->format, "text, markdown or json [text]")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  command->callback([&chosen, o] {
    chosen = [o] { return run_module("kselect history", "plots.history", "[]", o->arguments()); };
  });
}

}  // namespace kselect::cli
