#include "runtime/available_memory.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace kselect::runtime {

std::size_t available_memory() {
  std::ifstream lines("/proc/meminfo");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("MemAvailable:")) {
      return std::strtoull(line.c_str() + 13, nullptr, 10) * 1024;
    }
  }
  return 0;
}

}  // namespace kselect::runtime
