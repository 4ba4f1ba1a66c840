// libFuzzer target: the texts of the command line and of configs that have a grammar. Constraints,
// constants, filters, shards and distributions.

#include <optional>

#include "harness/config/expression.hpp"
#include "harness/plan/shard.hpp"
#include "harness/plan/title_filter.hpp"
#include "harness/workload/distribution.hpp"
#include "tests/fuzz/fuzzed.hpp"

using namespace kselect;
using namespace kselect::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  ends_documented([&] { harness::constant_value(text); });
  ends_documented([&] { harness::parse_shard(text); });
  ends_documented([&] {
    const harness::title_filter filter(text);
    filter.matches("cpu/heap float32/smallest/Q=4/n=1024/k=8/values/row_major/uniform#7");
  });
  if (const auto parsed = harness::parse_distribution(text)) {
    require(harness::parse_distribution(to_string(*parsed)) == parsed, "another distribution",
            to_string(*parsed));
  }
  std::optional<harness::expression> parsed;
  if (!ends_documented([&] { parsed.emplace(text); })) return 0;
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40}) {
    ends_documented([&] {
      const bool held = parsed->holds(n, 3, 7);
      // A variable that is not used has no effect.
      if (!parsed->uses('q')) require(parsed->holds(n, 5, 7) == held, "q has an effect", "");
      if (!parsed->uses('k')) require(parsed->holds(n, 3, 1) == held, "k has an effect", "");
    });
  }
  return 0;
}
