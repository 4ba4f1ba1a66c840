#include "harness/compare/merged_record.hpp"

#include <gtest/gtest.h>

namespace kselect::harness::compare {
namespace {

// The "time" of a record: one round of three samples of about `ns`.
json time_of(double ns, const std::vector<double>& samples) {
  const auto side = [](double median) {
    return json{{"median", median}, {"ci95", {median, median}}, {"rounds", {median}}};
  };
  json batch = side(ns - 10);
  batch["calls"] = static_cast<int>(ns);
  return {{"clock", "cuda_event"},
          {"gap_hidden", true},
          {"median", ns},
          {"stop", "spread"},
          {"rounds", {ns}},
          {"round_sizes", {3}},
          {"samples", samples},
          {"outliers", json::array()},
          {"wall", side(ns + 50)},
          {"batch", batch},
          {"sm_mhz", json::array({1000 + ns})}};
}

// The record of a turn on a GPU for a cell that takes `ns`.
recorded_cell turn_of(double ns) {
  recorded_cell cell;
  cell.status = cell_status::ok;
  recorded_time time;
  time.clock = "cuda_event";
  time.median = ns;
  time.samples = {ns - 1, ns, ns + 2};
  time.rounds = {ns};
  cell.time = time;
  cell.record = {{"status", "ok"},
                 {"reason", ""},
                 {"time", time_of(ns, time.samples)},
                 {"throttled", false},
                 {"pinned", true},
                 {"floor", {{"bytes", 1000}, {"ceiling", "read"}, {"share", 1000 / ns / 20}}},
                 {"counters", {{"barriers", 7}}},
                 {"gpu_state",
                  {{"event_reasons", 1}, {"temperature_c", {40, 41}}, {"most_power_w", 100 + ns}}},
                 {"verify",
                  {{"method", "certificate on the device"},
                   {"rows", 4},
                   {"answers", 3},
                   {"before", true},
                   {"after", true}}},
                 {"elapsed_s", 0.5}};
  return cell;
}

recorded_cell failed_turn(cell_status status) {
  recorded_cell cell = turn_of(1);
  cell.status = status;
  cell.time.reset();
  cell.record["time"] = nullptr;
  cell.record["status"] = to_string(status);
  cell.record["reason"] = "for a reason";
  return cell;
}

json merged(const std::vector<recorded_cell>& turns, std::ptrdiff_t absent = -1) {
  std::vector<const recorded_cell*> cells;
  for (const recorded_cell& turn : turns) cells.push_back(&turn);
  if (absent >= 0) cells.insert(cells.begin() + absent, nullptr);
  return merged_record(cells);
}

TEST(MergedRecord, KeepsEveryTimeOfEveryTurn) {
  const json record = merged({turn_of(100), turn_of(130), turn_of(110)});
  const json& time = record["time"];
  EXPECT_EQ(time["rounds"], json({100, 130, 110}));
  EXPECT_EQ(time["median"], 110);
  EXPECT_EQ(time["ci95"], json({100, 130})) << "three rounds bound nothing: their extremes";
  EXPECT_EQ(time["samples"], json({99, 100, 102, 129, 130, 132, 109, 110, 112}));
  EXPECT_EQ(time["round_sizes"], json({3, 3, 3}));
  EXPECT_EQ(time["min"], 99);
  EXPECT_EQ(time["q1"], 102);
  EXPECT_EQ(time["q3"], 129);
  EXPECT_EQ(time["max"], 132);
  EXPECT_EQ(time["stop"], "turns");
  EXPECT_EQ(time["gap_hidden"], true);
  EXPECT_EQ(time["wall"]["rounds"], json({150, 180, 160}));
  EXPECT_EQ(time["wall"]["median"], 160);
  EXPECT_EQ(time["batch"]["rounds"], json({90, 120, 100}));
  EXPECT_EQ(time["batch"]["ci95"], json({90, 120}));
  EXPECT_EQ(time["batch"]["calls"], 100) << "the fewest";
  EXPECT_EQ(time["sm_mhz"], json({1100, 1130, 1110}));
}

TEST(MergedRecord, FlagsOutliersAmongAllSamples) {
  std::vector<recorded_cell> turns;
  for (int i = 0; i < 6; ++i) turns.push_back(turn_of(100));
  turns.push_back(turn_of(1000));
  EXPECT_EQ(merged(turns)["time"]["outliers"], json({18, 19, 20}));
}

TEST(MergedRecord, KeepsWhatWasSeenInAnyTurnAndWhatHeldInAll) {
  std::vector<recorded_cell> turns = {turn_of(100), turn_of(130), turn_of(110)};
  turns[1].throttled = true;
  turns[1].record["gpu_state"] = {
      {"event_reasons", 4}, {"temperature_c", {39, 55}}, {"most_power_w", nullptr}};
  turns[2].record["pinned"] = false;
  turns[2].record["verify"]["method"] = "certificate";
  turns[2].record["verify"]["after"] = false;
  const json record = merged(turns);
  EXPECT_EQ(record["throttled"], true);
  EXPECT_EQ(record["pinned"], false);
  EXPECT_EQ(record["gpu_state"]["event_reasons"], 5);
  EXPECT_EQ(record["gpu_state"]["temperature_c"], json({39, 55}));
  EXPECT_EQ(record["gpu_state"]["most_power_w"], 210);
  EXPECT_EQ(record["verify"]["answers"], 9);
  EXPECT_EQ(record["verify"]["before"], true);
  EXPECT_EQ(record["verify"]["after"], false);
  EXPECT_EQ(record["verify"]["method"], "certificate");
  EXPECT_EQ(record["counters"]["barriers"], 7);
  EXPECT_EQ(record["elapsed_s"], 1.5);
}

// Each process measures its own ceiling: 20 bytes a nanosecond, except in one turn.
TEST(MergedRecord, TakesTheShareAtTheMiddleOfTheCeilings) {
  std::vector<recorded_cell> turns = {turn_of(100), turn_of(130), turn_of(110)};
  turns[1].record["floor"]["share"] = 1000.0 / 130 / 40;
  EXPECT_DOUBLE_EQ(merged(turns)["floor"]["share"], 1000.0 / 110 / 20);
  EXPECT_EQ(merged(turns)["floor"]["bytes"], 1000);
}

TEST(MergedRecord, LeavesThePlaceOfATurnWithoutATimeEmpty) {
  const json record = merged({failed_turn(cell_status::timeout), turn_of(100), turn_of(130)}, 2);
  const json& time = record["time"];
  EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(time["rounds"], json({nullptr, 100, nullptr, 130}));
  EXPECT_EQ(time["round_sizes"], json({0, 3, 0, 3}));
  EXPECT_EQ(time["samples"].size(), 6U);
  EXPECT_EQ(time["wall"]["rounds"], json({nullptr, 150, nullptr, 180}));
  EXPECT_EQ(time["sm_mhz"], json({nullptr, 1100, nullptr, 1130}));
  EXPECT_EQ(record["verify"]["answers"], 6);
}

TEST(MergedRecord, HasNoTimeIfATurnAnsweredWrongOrNoneHasOne) {
  const json wrong = merged({turn_of(100), failed_turn(cell_status::wrong), turn_of(130)});
  EXPECT_EQ(wrong["status"], "wrong");
  EXPECT_TRUE(wrong["time"].is_null());
  const json none = merged({failed_turn(cell_status::timeout), failed_turn(cell_status::error)});
  EXPECT_EQ(none["status"], "timeout");
  EXPECT_EQ(none["reason"], "for a reason");
}

// Records of CPU cells and of older programs have fewer members.
TEST(MergedRecord, MakesDoWithWhatThereIs) {
  std::vector<recorded_cell> turns = {turn_of(100), turn_of(110)};
  for (recorded_cell& turn : turns) {
    turn.time->samples = {turn.time->median};
    turn.record = {{"status", "ok"},
                   {"time", {{"clock", "steady"}, {"median", turn.time->median}}}};
  }
  const json record = merged(turns);
  EXPECT_EQ(record["time"]["median"], 105);
  EXPECT_EQ(record["time"]["samples"], json({100, 110}));
  EXPECT_TRUE(record["time"]["wall"].is_null());
  EXPECT_TRUE(record["time"]["batch"].is_null());
  EXPECT_TRUE(record["time"]["sm_mhz"].is_null());
  EXPECT_TRUE(record["floor"].is_null());
}

TEST(MergedMeta, HasTheMiddleOfTheCeilings) {
  std::vector<recorded_run> turns(3);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    turns[i].meta = {{"run", "x"},
                     {"floor", {{"cuda", {{"read", i == 1 ? 90 : 10 * i}, {"copy", nullptr}}}}}};
  }
  const json meta = merged_meta(turns);
  EXPECT_EQ(meta["floor"]["cuda"]["read"], 20);
  EXPECT_TRUE(meta["floor"]["cuda"]["copy"].is_null());
  EXPECT_EQ(meta["run"], "x");
}

}  // namespace
}  // namespace kselect::harness::compare
