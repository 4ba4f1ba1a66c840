#include "runtime/format.hpp"

#include <fmt/format.h>

namespace kselect::runtime {

std::string format_time(double nanoseconds) {
  constexpr struct {
    double scale;
    const char* name;
  } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  for (const auto& unit : units) {
    const double value = nanoseconds / unit.scale;
    if (value < 1 && unit.scale > 1) continue;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit.name);
  }
  return "0 ns";
}

}  // namespace kselect::runtime
