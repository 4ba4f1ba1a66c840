#include "runtime/backend/ticks.hpp"

#include <ctime>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace kselect::runtime {
namespace {

constexpr double shortest_ns = 1e6;

// By the kernel, and not by way of any library.
double kernel_ns() {
  timespec now{};
#if defined(__x86_64__)
  long result = SYS_clock_gettime;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(CLOCK_MONOTONIC)), "S"(&now)
               : "rcx", "r11", "memory");
#else
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
#endif
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

bool has_one_rate() {
#if defined(__aarch64__)
  return true;
#else
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("flags")) continue;
    return line.find(" constant_tsc") != std::string::npos &&
           line.find(" nonstop_tsc") != std::string::npos;
  }
  return false;
#endif
}

}  // namespace

std::optional<double> nanoseconds_per_tick() {
  static const bool usable = has_one_rate();
  static const double first_ns = kernel_ns();
  static const std::uint64_t first_ticks = processor_ticks();
  if (!usable) return std::nullopt;
  const double ns = kernel_ns() - first_ns;
  const std::uint64_t ticks = processor_ticks() - first_ticks;
  return ns < shortest_ns || ticks == 0 ? std::nullopt
                                        : std::optional(ns / static_cast<double>(ticks));
}

}  // namespace kselect::runtime
