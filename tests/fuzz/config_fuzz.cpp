// libFuzzer target: whatever the bytes are, parsing them ends in a config or in kselect::error with
// one printable line; and a config that parses is the fixed point of resolving and parsing again.
//
// Seeds: tests/fuzz/corpus/config. Expanding is tried on small sweeps only: it is linear in their
// size, and the fuzzer is after faults, not after time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "harness/config/cells.hpp"
#include "harness/config/combinations.hpp"
#include "harness/config/config.hpp"
#include "runtime/error.hpp"

namespace {

constexpr const char* file = "fuzz.json";

void require(bool holds, const char* what, const std::string& about) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, about.c_str());
  std::abort();
}

void check_message(const kselect::runtime::error& why) {
  const std::string message = why.what();
  require(message.starts_with(file), "the message does not begin with the file", message);
  require(message.size() < 1000, "the message is too long", message);
  for (const char c : message) require(c >= ' ' && c <= '~', "not one printable line", message);
}

std::size_t combinations(const kselect::harness::sweep_axes& axes) {
  return std::max<std::size_t>(axes.n.size(), 1) * std::max<std::size_t>(axes.q.size(), 1) *
         std::max<std::size_t>(axes.k.size(), 1) * std::max<std::size_t>(axes.shapes.size(), 1) *
         axes.types.size() * axes.payloads.size() * axes.directions.size() * axes.layouts.size() *
         axes.indices.size() * axes.distributions.size();
}

void expand_if_small(const kselect::harness::sweep_config& config) {
  if (combinations(config.axes) > 200) return;
  try {
    if (std::holds_alternative<kselect::harness::dataset_input>(config.input)) {
      kselect::harness::expand(config, kselect::harness::dataset_sizes{5000, 5000});
    } else {
      const auto problems = kselect::harness::expand(config);
      const kselect::harness::combinations all(config);
      require(kselect::harness::count_left(all) == static_cast<std::int64_t>(problems.size()),
              "counting and visiting differ", config.name);
      for (const kselect::problem& p : problems) {
        require(p.k >= 1 && (p.k <= p.n || p.n == 0 || p.q == 0), "impossible cell", to_string(p));
      }
    }
  } catch (const kselect::runtime::error& why) {
    check_message(why);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kselect::harness::sweep_config config;
  try {
    config = kselect::harness::parse_config(text, file);
  } catch (const kselect::runtime::error& why) {
    check_message(why);
    return 0;
  }
  const std::string resolved = resolved_json(config).dump();
  const kselect::harness::sweep_config again = kselect::harness::parse_config(resolved, file);
  require(again == config, "resolving changes the config", resolved);
  require(resolved_json(again).dump() == resolved, "resolving is not stable", resolved);
  expand_if_small(config);
  return 0;
}
