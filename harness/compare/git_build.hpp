#pragma once
// The program as it was at a commit: checked out into a git worktree and built, once.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kselect::harness::compare {

struct build_request {
  std::filesystem::path repository = ".";
  std::filesystem::path work;                // gets COMMIT/source and COMMIT/build, and keeps them
  std::vector<std::string> cmake_arguments;  // added to the configuration: -DKSELECT_CUDA=OFF
  int jobs = 0;                              // 0: the build tool's own choice
  std::function<void(const std::string&)> say;
};

// The full hash of what `ref` names. Throws error(failure::usage) if it names no commit.
std::string commit_of(const build_request& request, const std::string& ref);

// The path of `kselect` built from that commit, Release, without tests. What an earlier call left
// is brought up to date, which takes no time if it is. Throws error(failure::usage) naming the log
// if git, configuration or build fails.
std::filesystem::path build_commit(const build_request& request, const std::string& commit);

}  // namespace kselect::harness::compare
