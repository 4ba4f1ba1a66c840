#include "cli/idle_threads.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace kselect::cli {

void let_idle_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};  // each ends with a 0
  if (words.empty() || words.back() != '\0') return;
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) {
    arguments.push_back(words.data() + at);
  }
  arguments.push_back(nullptr);
  if (setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;  // else it would begin again for ever
  std::fflush(nullptr);
  execv("/proc/self/exe", arguments.data());
}

}  // namespace kselect::cli
