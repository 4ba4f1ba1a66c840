// CLI11 notices what is missing before what is unknown: `kselect explian` is a line without a
// command to it, and `--vlaues` may hide behind a missing --k. What is unknown is said first.

#include "cli/help/usage_error.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/help/command_tree.hpp"

namespace kselect::cli::help {
namespace {

// The commands that CLI11 understood, from the program down.
std::vector<const CLI::App*> understood(const CLI::App& app) {
  std::vector<const CLI::App*> chain = {&app};
  while (!chain.back()->get_subcommands().empty()) {
    chain.push_back(chain.back()->get_subcommands().front());
  }
  return chain;
}

command_facts facts_at(const std::vector<const CLI::App*>& chain, std::size_t level) {
  std::vector<std::string> path;
  for (std::size_t i = 1; i <= level; ++i) path.push_back(chain[i]->get_name());
  return facts_of(*chain[level], std::move(path));
}

// What is wrong, and which help says how it is right.
std::string with_help(const std::string& wrong, const command_facts& command) {
  return fmt::format("{}{} `kselect help{}{}`", wrong, wrong.ends_with('?') ? " See" : "; see",
                     command.path.empty() ? "" : " ", command.name());
}

// Of a word that a command does not know.
std::string unknown(const command_facts& command, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with("-") && word != "-") {
    for (const option_facts& o : command.options) {
      known.insert(known.end(), o.names.begin(), o.names.end());
    }
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("`{}` has no option {}{}", command.full_name(), name,
                       did_you_mean(name, known));
  }
  if (command.commands.empty()) {
    return fmt::format("'{}' is one word too many for `{}`", word, command.full_name());
  }
  for (const command_facts& below : command.commands) known.push_back(below.path.back());
  return fmt::format("'{}' is no command of `{}`{}", word, command.full_name(),
                     did_you_mean(word, known));
}

std::string missing(const command_facts& command, const CLI::App& app,
                    const std::string& fallback) {
  if (!command.commands.empty() && app.get_require_subcommand_min() > 0) {
    return fmt::format("`{}` needs a command", command.full_name());
  }
  for (const CLI::Option* const option : app.get_options()) {
    if (!option->get_required() || option->count() != 0) continue;
    const std::string name = option->get_name(false, false);
    if (!option->get_positional()) {
      return fmt::format("`{}` needs {}", command.full_name(), name);
    }
    const std::string position = option->get_name(true);
    return fmt::format("`{}` needs {}{}", command.full_name(), position,
                       name == position ? "" : fmt::format(" (or {})", name));
  }
  return fallback;
}

// Why no option can mean this value, which CLI11 takes: an empty text is 0 to it, and a number
// that is too large the largest. Empty if there is no reason.
std::string objection(const std::string& type, const std::string& value) {
  if (value.empty()) return "is empty; give a value, or leave the option out";
  errno = 0;
  if (type.starts_with("INT")) {
    static_cast<void>(std::strtoll(value.c_str(), nullptr, 0));
  } else if (type.starts_with("UINT")) {
    static_cast<void>(std::strtoull(value.c_str(), nullptr, 0));
  } else if (type.starts_with("FLOAT")) {
    return std::isnan(std::strtod(value.c_str(), nullptr)) ? value + " is no number" : "";
  }
  return errno == ERANGE ? value + " does not fit 64 bits" : "";
}

// What CLI11 says of an option's values, in words of ours: `--k: 1 required INT missing`,
// `--k: At Most 1 required but received 2`, `--k: Value x not in range 1 to 9`, and
// `Could not convert: --alpha = x`.
std::string about_values(const std::string& said) {
  const std::string no_value = "Could not convert: ", equals = " = ";
  if (const auto at = said.find(equals); said.starts_with(no_value) && at != std::string::npos) {
    return fmt::format("{}: {} is no number", said.substr(no_value.size(), at - no_value.size()),
                       said.substr(at + equals.size()));
  }
  const std::string name = said.substr(0, said.find(':'));
  const std::string value_is = ": Value ", not_in = " not in range ";
  const auto begin = said.find(value_is), end = said.find(not_in);
  if (begin != std::string::npos && end != std::string::npos) {
    const auto first = begin + value_is.size();
    return fmt::format("{}: {} is no number from {}", name, said.substr(first, end - first),
                       said.substr(end + not_in.size()));
  }
  if (said.ends_with(" missing")) return name + " needs a value";
  if (said.find(": At Most 1 required") != std::string::npos)
    return name + " is given twice; give it once";
  return said;
}

}  // namespace

std::string unusable_value(const CLI::App& app) {
  const auto chain = understood(app);
  for (std::size_t level = 0; level < chain.size(); ++level) {
    for (const CLI::Option* const option : chain[level]->get_options()) {
      for (const std::string& value : option->results()) {
        const std::string why = objection(option->get_type_name(), value);
        if (why.empty()) continue;
        const std::string name = option->get_name(false, false);
        return with_help(fmt::format("{}{} {}", name, value.empty() ? "" : ":", why),
                         facts_at(chain, level));
      }
    }
  }
  return {};
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  const auto chain = understood(app);
  const command_facts last = facts_at(chain, chain.size() - 1);
  const auto is = [&](CLI::ExitCodes code) {
    return problem.get_exit_code() == static_cast<int>(code);
  };
  const bool incomplete = is(CLI::ExitCodes::RequiredError);
  if (!incomplete && !is(CLI::ExitCodes::ExtrasError)) {
    return with_help(about_values(problem.what()), last);
  }
  for (std::size_t level = 0; level < chain.size(); ++level) {
    const std::vector<std::string> rest = chain[level]->remaining(false);
    if (rest.empty()) continue;
    // An unknown option first: the words behind it may be its values.
    const auto option = std::ranges::find_if(
        rest, [](const std::string& w) { return w.starts_with("-") && w != "-"; });
    const command_facts command = facts_at(chain, level);
    const bool no_command = !command.commands.empty() && chain.back() == chain[level];
    return with_help(unknown(command, option == rest.end() || no_command ? rest.front() : *option),
                     command);
  }
  return with_help(incomplete ? missing(last, *chain.back(), problem.what()) : problem.what(),
                   last);
}

}  // namespace kselect::cli::help
