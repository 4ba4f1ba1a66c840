#include "harness/run/reading_rate.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kselect::harness {
namespace {

// A host backend that records its requests and reports a given reading rate.
class noting final : public backend {
 public:
  const device& description() const override { return device_; }
  kselect::executor executor() const override { return {.device = &device_}; }
  std::byte* allocate(std::size_t) override { return nullptr; }
  void release(std::byte*) noexcept override {}
  void to_device(std::byte*, std::span<const std::byte>) override {}
  void to_host(std::span<std::byte>, const std::byte*) override {}
  void copy(std::byte*, const std::byte*, std::size_t) override {}
  status synchronise() override { return {}; }
  timed_run time(const std::function<status()>&, bool) override { return {}; }
  const char* clock_name() const override { return "none"; }
  memory_ceilings measure_ceilings() override { return {}; }

  void evict(std::span<const memory_range> ranges) override {
    asked += 'e';
    EXPECT_EQ(ranges.size(), 1U);
  }
  std::optional<double> seconds_to_read(memory_range bytes, int threads, int readings) override {
    asked += 'r';
    EXPECT_EQ(threads, 1);
    most_readings = std::max(most_readings, readings);
    std::this_thread::sleep_for(each);
    const double rate = rates.at(next++ % rates.size());
    return static_cast<double>(bytes.size()) / rate;
  }

  std::vector<double> rates = {1e9};
  std::chrono::milliseconds each{0};
  std::size_t next = 0;
  std::string asked;
  int most_readings = 0;

 private:
  device device_;
};

class ReadingRate : public testing::Test {
 protected:
  ReadingRate() { policy_.warmup = 2; }
  void turn(std::size_t bytes) {
    rows_.assign(bytes, std::byte{1});
    rate_.take_turn(input_rows(place_, rows_), policy_, place_);
  }
  std::vector<std::byte> rows_;
  noting place_;
  measure_policy policy_;
  reading_rate rate_{1};
};

TEST_F(ReadingRate, IsUnknownBeforeTheFirstTurn) { EXPECT_EQ(rate_.bytes_per_second(), 0); }

TEST_F(ReadingRate, WarmsUpAsCellsDo) {
  turn(std::size_t{2} << 20);
  EXPECT_EQ(place_.asked,
            "rr"
            "rrrrrrrrr")
      << "two warm-ups, nine samples";
  EXPECT_EQ(place_.most_readings, 1);
  EXPECT_DOUBLE_EQ(rate_.bytes_per_second(), 1e9);
}

TEST_F(ReadingRate, EvictsBeforeEverySampleWhereCellsDo) {
  policy_.cache = cpu_cache::flushed;
  turn(1000);
  EXPECT_EQ(place_.asked,
            "erererererererer"
            "er");
  EXPECT_EQ(place_.most_readings, 1) << "a second one would find the rows in a cache";
}

TEST_F(ReadingRate, ReadsFewRowsMoreThanOnce) {
  turn(1024);
  EXPECT_EQ(place_.most_readings, 1024);
}

TEST_F(ReadingRate, ReadsManyRowsFewerTimes) {
  place_.each = std::chrono::milliseconds(60);
  turn(1024);
  EXPECT_EQ(place_.asked, "rr") << "one warm-up was long enough";
  EXPECT_DOUBLE_EQ(rate_.bytes_per_second(), 1e9);
}

TEST_F(ReadingRate, IsTheMedianOfTheFastestOfEachRound) {
  policy_.warmup = 0;
  const double of_round[3][3] = {{1e9, 8e9, 2e9}, {5e9, 3e9, 4e9}, {1e9, 6e9, 7e9}};
  for (const auto& rates : of_round) {
    place_.rates.assign(std::begin(rates), std::end(rates));
    turn(std::size_t{1} << 20);
  }
  EXPECT_DOUBLE_EQ(rate_.bytes_per_second(), 7e9) << "of 8, 5 and 7";
}

TEST_F(ReadingRate, OfNoRowsIsUnknown) {
  turn(0);
  EXPECT_EQ(place_.asked, "");
  EXPECT_EQ(rate_.bytes_per_second(), 0);
}

}  // namespace
}  // namespace kselect::harness
