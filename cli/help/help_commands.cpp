// `kselect help`, `version`, `completion` and `man`.

#include "cli/help/help_commands.hpp"

#include <filesystem>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "cli/help/command_tree.hpp"
#include "cli/help/completion.hpp"
#include "cli/help/help_text.hpp"
#include "cli/help/man_page.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/io/atomic_file.hpp"

namespace kselect::cli {
namespace {

int print_help(const CLI::App& app, const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"exit-codes"}) {
    fmt::print("{}", help::exit_code_page());
    return 0;
  }
  const help::command_facts program = help::facts_of(app);
  fmt::print("{}", help::help_text(help::find_command(program, words)));
  return 0;
}

void add_help_command(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("help", "What a command does, with examples");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "a command, such as select or index knn; or exit-codes")
      ->type_name("COMMAND");
  command->callback(
      [&app, &chosen, words] { chosen = [&app, words] { return print_help(app, *words); }; });
}

void add_completion(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("completion", "A script that completes commands in your shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "the shell to write it for")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      const help::command_facts program = help::facts_of(app);
      fmt::print("{}", *shell == "bash"  ? help::bash_completion(program)
                       : *shell == "zsh" ? help::zsh_completion(program)
                                         : help::fish_completion(program));
      return 0;
    };
  });
}

int write_pages(const help::command_facts& program, const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) {
    throw error(failure::output,
                fmt::format("{}: cannot be made: {}", directory, failed.message()));
  }
  const auto commands = help::all_commands(program);
  for (const help::command_facts* const c : commands) {
    const std::string text = help::man_page(*c, program);
    atomic_file file(std::filesystem::path(directory) / (c->page() + ".1"));
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }
  fmt::print("{}: {} pages\n", directory, commands.size());
  return 0;
}

void add_man(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("man", "Manual pages of this program");
  const auto words = std::make_shared<std::vector<std::string>>();
  const auto directory = std::make_shared<std::string>();
  command
      ->add_option("COMMAND", *words,
                   "a command, such as select or index knn; without it, the program's page")
      ->type_name("COMMAND");
  command->add_option("--all", *directory, "write the pages of all commands into this directory")
      ->type_name("DIR");
  command->callback([&app, &chosen, words, directory] {
    chosen = [&app, words, directory] {
      const help::command_facts program = help::facts_of(app);
      if (!directory->empty()) return write_pages(program, *directory);
      fmt::print("{}", help::man_page(help::find_command(program, *words), program));
      return 0;
    };
  });
}

}  // namespace

void add_help(CLI::App& app, action& chosen) {
  add_help_command(app, chosen);
  app.add_subcommand("version", "Version, commit, compiler and executors of this program")
      ->callback([&chosen] {
        chosen = [] {
          fmt::print("{}\n", version_line());
          return 0;
        };
      });
  add_completion(app, chosen);
  add_man(app, chosen);
}

}  // namespace kselect::cli
