#pragma once
// Builds the program of a commit, once, in a git worktree.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kselect::harness::compare {

struct build_request {
  std::filesystem::path repository = ".";
  std::filesystem::path work;                // gets and keeps COMMIT/source and COMMIT/build
  std::vector<std::string> cmake_arguments;  // for the configuration, such as -DKSELECT_CUDA=OFF
  int jobs = 0;                              // 0: the build tool's own choice
  std::function<void(const std::string&)> say;
};

// The full hash of the commit `ref`. Throws error(failure::usage) if it names no commit.
std::string commit_of(const build_request& request, const std::string& ref);

// Builds `kselect` from that commit (Release, without tests) and returns its path. An earlier build
// is brought up to date. If git, configuration or build fails, throws error(failure::usage), which
// names the log.
std::filesystem::path build_commit(const build_request& request, const std::string& commit);

}  // namespace kselect::harness::compare
