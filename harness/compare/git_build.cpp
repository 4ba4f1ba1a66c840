#include "harness/compare/git_build.hpp"

#include <fmt/format.h>

#include "harness/compare/subprocess.hpp"
#include "harness/harness.hpp"
#include "harness/record/file.hpp"
#include "runtime/error.hpp"

namespace kselect::harness::compare {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> git(const fs::path& where, std::initializer_list<std::string> arguments) {
  std::vector<std::string> line = {"git", "-C", where.string()};
  line.insert(line.end(), arguments);
  return line;
}

// A new, empty log of one command. Its last line is the command's answer.
fs::path fresh_log(const build_request& request, const char* name) {
  make_directories(request.work);
  const fs::path log = request.work / name;
  fs::remove(log);
  return log;
}

}  // namespace

std::string commit_of(const build_request& request, const std::string& ref) {
  const fs::path log = fresh_log(request, "rev-parse.log");
  const int code = run_process(
      git(request.repository, {"rev-parse", "--verify", "--end-of-options", ref + "^{commit}"}),
      log);
  const std::string answer = last_line(log);
  if (code == 0 && answer.size() >= 40) return answer;
  throw error(failure::usage, fmt::format("'{}' names no commit of {}: {}", ref,
                                          request.repository.string(), answer));
}

fs::path build_commit(const build_request& request, const std::string& commit) {
  const fs::path place = fs::absolute(request.work / commit.substr(0, 12));
  const fs::path source = place / "source", build = place / "build";
  make_directories(place);
  const fs::path log = place / "build.log";
  fs::remove(log);
  if (request.say)
    request.say(fmt::format("building {} (log: {})", commit.substr(0, 12), log.string()));
  if (!fs::exists(source / ".git")) {
    // Git still lists a worktree whose folder was deleted.
    require_process(git(request.repository, {"worktree", "prune"}), log, "git worktree prune");
    require_process(
        git(request.repository, {"worktree", "add", "--detach", source.string(), commit}), log,
        "git worktree add");
  }
  std::vector<std::string> configure = {"cmake",
                                        "-S",
                                        source.string(),
                                        "-B",
                                        build.string(),
                                        "-G",
                                        "Ninja",
                                        "-DCMAKE_BUILD_TYPE=Release",
                                        "-DKSELECT_TESTS=OFF"};
  configure.insert(configure.end(), request.cmake_arguments.begin(), request.cmake_arguments.end());
  require_process(configure, log, fmt::format("configuring {}", commit.substr(0, 12)));
  std::vector<std::string> make = {"cmake", "--build", build.string(), "--target", "kselect"};
  if (request.jobs > 0) make.insert(make.end(), {"--parallel", std::to_string(request.jobs)});
  require_process(make, log, fmt::format("building {}", commit.substr(0, 12)));
  return build / "kselect";
}

}  // namespace kselect::harness::compare
