#include "runtime/environment/nvml.hpp"

#include <algorithm>
#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/environment/gpu.hpp"

namespace kselect::runtime {
namespace {

using level = finding_of_doctor::level;

TEST(Nvml, ItsAbsenceIsToldAndNothingMore) {
  std::string why;
  EXPECT_EQ(nvml::load(&why, "libno-such-driver.so.1"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("libno-such-driver.so.1"));
  EXPECT_EQ(nvml::load(&why, "libm.so.6"), nullptr) << "a library, but not this one";
  EXPECT_THAT(why, testing::HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, TellsWhatTheDriverKnows) {
  const auto driver = nvml::load(nullptr, KSELECT_FAKE_NVML);
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->driver_version(), "580.65.06");
  const gpu_state gpu = driver->look("0000:3B:00.0");
  EXPECT_EQ(gpu.sm_mhz, 1755);
  EXPECT_EQ(gpu.memory_mhz, 2619);
  EXPECT_EQ(gpu.max_sm_mhz, 1980);
  EXPECT_EQ(gpu.temperature_c, 41);
  EXPECT_EQ(gpu.power_w, 123.456);
  EXPECT_EQ(gpu.power_limit_w, 700);
  EXPECT_EQ(gpu.ecc, true);
  EXPECT_EQ(gpu.persistence, false);
  EXPECT_EQ(gpu.processes, 2);
  EXPECT_EQ(gpu.event_reasons, 0x44) << "by the older name of the function";
  EXPECT_FALSE(gpu.mig) << "not supported is not known";
  EXPECT_FALSE(gpu.utilization_percent) << "this driver lacks the function";
  EXPECT_FALSE(driver->look("0000:99:00.0").sm_mhz) << "no such GPU";
}

TEST(Nvml, PowerCapIsNoSlowDownButHeatIs) {
  EXPECT_FALSE(slows_down(0));
  EXPECT_FALSE(slows_down(0x1 | 0x2 | 0x4));  // idle, application clocks, power cap
  for (const std::uint64_t bit : {0x8, 0x20, 0x40, 0x80}) EXPECT_TRUE(slows_down(bit | 0x4));
}

TEST(Doctor, WarnsOfAHotAndBusyGpu) {
  gpu_state state;
  EXPECT_TRUE(examine_gpu(state).empty()) << "says nothing of what it does not know";
  state.sm_mhz = 1200;
  state.max_sm_mhz = 1980;
  state.event_reasons = 0x40;
  state.temperature_c = 88;
  state.processes = 1;
  std::vector<std::string> warned;
  for (const auto& found : examine_gpu(state)) {
    if (found.severity == level::warning) warned.push_back(found.subject);
  }
  EXPECT_EQ(warned, (std::vector<std::string>{"GPU clock", "GPU heat", "GPU load"}));
  state.event_reasons = 0x4;
  state.temperature_c = 50;
  state.processes = 0;
  state.persistence = true;
  for (const auto& found : examine_gpu(state)) EXPECT_EQ(found.severity, level::good);
}

}  // namespace
}  // namespace kselect::runtime
