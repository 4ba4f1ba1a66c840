// libFuzzer target: lines between a sweep and its worker process, in both directions.

#include "harness/run/messages.hpp"
#include "tests/fuzz/fuzzed.hpp"

using namespace kselect;
using namespace kselect::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string line(text_of(data, size));
  ends_documented([&] { harness::message_from(line); });
  ends_documented([&] {
    const auto setup = harness::setup_from(line);
    require(harness::setup_line(harness::setup_from(harness::setup_line(setup))) ==
                harness::setup_line(setup),
            "a setup is not stable", line);
  });
  ends_documented([&] {
    for (const harness::cell& c : harness::group_from(line)) {
      require(c.entry != nullptr, "a cell without an algorithm", line);
    }
  });
  return 0;
}
