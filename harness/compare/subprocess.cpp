#include "harness/compare/subprocess.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

extern char** environ;

namespace kselect::harness::compare {

int run_process(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t redirect;
  posix_spawn_file_actions_init(&redirect);
  posix_spawn_file_actions_addopen(&redirect, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&redirect, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &redirect, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&redirect);
  if (failed != 0) {
    throw error(failure::usage, fmt::format("{} cannot be started: {}", arguments[0],
                                            std::generic_category().message(failed)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw error(failure::usage, fmt::format("{} cannot be waited for", arguments[0]));
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void require_process(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                     const std::string& purpose) {
  const int code = run_process(arguments, log);
  if (code == 0) return;
  throw error(failure::usage, fmt::format("{} failed with exit code {}: {} (log: {})", purpose,
                                          code, last_line(log), log.string()));
}

std::string last_line(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace kselect::harness::compare
