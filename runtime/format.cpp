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

std::string plural_of(std::string_view noun) {
  const auto ends_in = [&](std::string_view end) { return noun.ends_with(end); };
  // "query", but not "key".
  if (ends_in("y") && !ends_in("ay") && !ends_in("ey") && !ends_in("oy")) {
    return fmt::format("{}ies", noun.substr(0, noun.size() - 1));
  }
  return fmt::format("{}{}", noun, ends_in("s") || ends_in("x") || ends_in("ch") ? "es" : "s");
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

std::string amount_of(std::int64_t count, std::string_view noun) {
  return count == 1 ? fmt::format("1 {}", noun) : fmt::format("{} {}", count, plural_of(noun));
}

}  // namespace kselect::runtime
