#include "tests/algorithms/battery.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <xxhash.h>

#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "runtime/backend/host_backend.hpp"

namespace kselect::battery {
using namespace runtime;
using namespace harness;

std::vector<contender> contenders(std::optional<executor_kind> only) {
  std::vector<contender> all;
  for (const registered& row : registry()) {
    for (const auto& kind : names<executor_kind>) {
      if (only.value_or(kind.value) != kind.value) continue;
      if (row.algorithm->executors.contains(kind.value)) all.push_back({&row, kind.value});
    }
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<contender>& info) {
  std::string name{info.param.entry->algorithm->name};
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name + "_on_" + std::string(to_string(info.param.executor));
}

void Battery::SetUp() {
  if (!entry().missing.empty()) GTEST_SKIP() << entry().missing;
  if (const std::string reason = why_unavailable(GetParam().executor); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  if (sampled_out()) GTEST_SKIP() << "not in the sample";
  choose_share();
  // A GPU's problems are large, so all CPU threads generate and prove them.
  place_ = open_backend(GetParam().executor, on(executor_kind::cuda) ? 0 : 2);
}

namespace {

std::string_view battery_mode() {
  const char* const set = std::getenv("KSELECT_BATTERY");
  return set == nullptr ? "" : set;
}

// An entry's number among the entries of its file that run on the executor, and their count.
struct family_place {
  int number = 0, count = 0;
};

family_place place_in_family(const contender& c) {
  family_place found;
  for (const registered& row : registry()) {
    if (row.file != c.entry->file || !row.algorithm->executors.contains(c.executor)) continue;
    if (&row == c.entry) found.number = found.count;
    ++found.count;
  }
  return found;
}

}  // namespace

void Battery::choose_share() {
  constexpr int most = 6;
  const std::string_view wanted = battery_mode();
  if (wanted == "full" || (wanted != "shared" && !on(executor_kind::fiber))) return;
  const family_place own = place_in_family(GetParam());
  share_ = std::min(own.count, most);
  offset_ = own.number % share_;
}

// The pick differs between tests and files, so that one run covers many variants.
bool Battery::sampled_out() const {
  const std::string mode(battery_mode());
  if (!mode.starts_with("sample:") || !on(executor_kind::fiber)) return false;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name(test.name());
  const std::string text =
      mode + name.substr(0, name.find('/')) + std::string(GetParam().entry->file);
  const family_place own = place_in_family(GetParam());
  const std::uint64_t pick = XXH3_64bits(text.data(), text.size());
  return static_cast<int>(pick % static_cast<std::uint64_t>(own.count)) != own.number;
}

workload Battery::admitted(workload p) const {
  if (!entry().layouts.contains(p.layout)) p.layout = layout::column_major;
  if (!entry().dtypes.contains(p.type)) p.type = dtype::float64;
  if (!entry().index_types.contains(p.index)) p.index = index_type::int64;
  if (!entry().payloads.contains(p.payload)) {
    for (const auto& candidate : names<payload>) {
      if (entry().payloads.contains(candidate.value)) p.payload = candidate.value;
    }
  }
  return p;
}

std::vector<workload> Battery::admitted_and_narrow(const workload& p) {
  std::vector<workload> both = {admitted(p)};
  std::vector<dtype> narrow;
  for (const dtype type : {dtype::float16, dtype::bfloat16}) {
    if (entry().dtypes.contains(type)) narrow.push_back(type);
  }
  if (!narrow.empty()) {
    both.push_back(both.front());
    both.back().type = narrow[static_cast<std::size_t>(narrow_turn_++) % narrow.size()];
  }
  return both;
}

std::vector<workload> Battery::variants(const workload& p) const {
  std::vector<workload> all;
  for (const auto& type : names<dtype>) {
    for (const auto& answer : names<payload>) {
      for (const auto& order : names<layout>) {
        for (const auto& index : names<index_type>) {
          for (const auto& wanted : names<direction>) {
            workload variant = p;
            variant.type = type.value;
            variant.payload = answer.value;
            variant.layout = order.value;
            variant.index = index.value;
            variant.direction = wanted.value;
            const bool index_matters = variant.has_indices();
            if (!index_matters && index.value != index_type::int32) continue;
            if (check_support(entry(), variant, place_->description())) all.push_back(variant);
          }
        }
      }
    }
  }
  return all;
}

void Battery::prove(const workload& p) {
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, place_->description().threads);
  prove_on(p, rows);
}

void Battery::prove_on(const workload& p, std::span<const std::byte> rows, std::int64_t shift) {
  if (!check_support(entry(), p, place_->description())) {
    ++beyond_limits_;
    return;
  }
  // The buffer is aligned, so the input is misaligned by exactly the shift.
  const auto lead = static_cast<std::size_t>(shift) * size_of(p.type);
  const device_buffer shifted(*place_, lead + rows.size());
  place_->to_device(shifted.data() + lead, rows);
  const input_rows input = input_rows::at(*place_, rows, shifted.data() + lead);
  trial attempt(entry(), p, input, *place_);
  attempt.prepare();
  const status result = attempt.run();
  ASSERT_TRUE(result.ok()) << to_string(p) << " shift " << shift << ": " << result.message;
  ASSERT_EQ(attempt.disprove(), "") << to_string(p) << " shift " << shift;
  ++proven_;
}

}  // namespace kselect::battery
