#include "runtime/format.hpp"

#include <fmt/format.h>

namespace kselect::runtime {

namespace {

struct time_unit {
  double scale;
  const char* name;
};

// The largest unit of which there is one whole.
time_unit unit_of(double nanoseconds) {
  for (const time_unit& unit : {time_unit{1e9, "s"}, time_unit{1e6, "ms"}, time_unit{1e3, "us"}}) {
    if (nanoseconds >= unit.scale) return unit;
  }
  return {1, "ns"};
}

int decimals_of(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

}  // namespace

std::string format_time(double nanoseconds) {
  const time_unit unit = unit_of(nanoseconds);
  const double value = nanoseconds / unit.scale;
  return fmt::format("{:.{}f} {}", value, decimals_of(value), unit.name);
}

std::string format_time(double nanoseconds, double half) {
  const time_unit unit = unit_of(nanoseconds);
  const double value = nanoseconds / unit.scale;
  const int decimals = decimals_of(value);
  return fmt::format("{:.{}f}±{:.{}f} {}", value, decimals, half / unit.scale, decimals, unit.name);
}

}  // namespace kselect::runtime
