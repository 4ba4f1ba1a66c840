#include "harness/compare/apart.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kselect::harness::compare {
namespace {

// On record, one cell's medians in two runs on one GPU differ by a factor of 1.17 at most. On a
// host under a load of 7 a thread, a run's fastest sample took 4.8 times the other's median at most
// (results/*/trials_apart).
constexpr double gpu_factor = 1.5;
constexpr double host_factor = 8;

// The host's load for each of its threads as a run began; 0 if it is not recorded.
double load_of(const recorded_run& run) {
  const json load = run.fact({"host", "load_1min"}), threads = run.fact({"host", "threads_online"});
  if (!load.is_number() || !threads.is_number() || threads <= 0) return 0;
  return load.get<double>() / threads.get<double>();
}

double fastest(const recorded_time& time) {
  if (!time.samples.empty()) return *std::ranges::min_element(time.samples);
  double least = time.median;
  for (const auto& round : time.rounds) {
    if (round) least = std::min(least, *round);
  }
  return least;
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=+,:@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The command line that made a run; empty if it is not recorded.
std::vector<std::string> arguments_of(const recorded_run& run) {
  std::vector<std::string> found;
  const json arguments = run.fact({"arguments"});
  if (!arguments.is_array()) return found;
  for (const json& argument : arguments) {
    if (argument.is_string()) found.push_back(argument);
  }
  return found;
}

// A committed build by its commit, any other by the file that ran.
std::string program_of(const recorded_run& run, bool by_commit, const char* otherwise) {
  if (by_commit) return run.fact({"git", "commit"}).get<std::string>().substr(0, 12);
  const std::vector<std::string> arguments = arguments_of(run);
  return arguments.empty() ? std::string(otherwise) : shell_word(arguments.front());
}

bool committed(const recorded_run& run) {
  const json commit = run.fact({"git", "commit"});
  return commit.is_string() && !commit.get<std::string>().empty() &&
         run.fact({"git", "dirty"}) == json(false);
}

// The config, and the options that choose cells, as both runs were given them.
std::string chosen_cells(const recorded_run& run) {
  const std::vector<std::string> arguments = arguments_of(run);
  std::string config, options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    // A file, or the name of a stock config after the command.
    const bool named = arguments[i - 1] == "run" && !word.starts_with("-");
    if (config.empty() && (named || (word.ends_with(".json") && arguments[i - 1] != "--out"))) {
      config = word;
    }
    if (i + 1 == arguments.size()) continue;
    for (const char* const option : {"--filter", "--executor", "--dataset"}) {
      if (word == option) options += fmt::format(" {} {}", word, shell_word(arguments[i + 1]));
    }
  }
  return (config.empty() ? "CONFIG" : shell_word(config)) + options;
}

}  // namespace

double largest_factor_apart(const recorded_run& a, const recorded_run& b,
                            const std::string& executor) {
  if (executor == "cuda") return gpu_factor;
  // Under a load of L a thread, a program gets a share of 1 / (1 + L) of the processor.
  return std::max(host_factor, 2 * (1 + std::max(load_of(a), load_of(b))));
}

bool clearly_slower(const recorded_time& slower, const recorded_time& faster, double factor) {
  return fastest(slower) > factor * faster.median;
}

std::string ab_command(const comparison& compared) {
  const auto commit = [](const recorded_run& run) { return run.fact({"git", "commit"}); };
  const bool by_commit = committed(compared.base) && committed(compared.now) &&
                         commit(compared.base) != commit(compared.now);
  std::string base = program_of(compared.base, by_commit, "BASE_PROGRAM");
  std::string now = program_of(compared.now, by_commit, "NEW_PROGRAM");
  // One file that was built twice: only the user knows where the other build is.
  if (base == now && commit(compared.base) != commit(compared.now)) base = "BASE_PROGRAM";
  std::string command = fmt::format("kselect ab {} {} {}", base, now, chosen_cells(compared.now));
  std::set<std::string> algorithms;
  for (const compared_cell& cell : compared.cells) {
    if (cell.verdict == verdict::inconclusive) algorithms.insert(cell.any().algorithm);
  }
  if (algorithms.size() == 1 && command.find(" --filter ") == std::string::npos) {
    command += fmt::format(" --filter {}", shell_word(*algorithms.begin() + " "));
  }
  return command;
}

}  // namespace kselect::harness::compare
