#pragma once
// What the tests of adapters with stand-ins for their libraries share.

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "kselect/algorithm.hpp"
#include "runtime/backend/host_backend.hpp"
#include "tests/problems.hpp"

namespace kselect::testing_adapters {

inline workload sized(std::int64_t n, std::int64_t q, std::int64_t k) {
  workload p = posed(n, q, k);
  p.seed = 7;
  return p;
}

// The entry as if the place where stand-ins run, the host's memory, were its GPU.
inline algorithm on_host(algorithm entry) {
  entry.executors = set_of(executor_kind::fiber);
  return entry;
}

// All problems of the given sizes and rows that the entry takes, in all its types, payloads and
// directions.
inline std::vector<workload> admitted(const algorithm& entry, workload p, const device& where) {
  std::vector<workload> all;
  for (const auto& type : names<dtype>) {
    for (const auto& index : names<index_type>) {
      for (const auto& answer : names<payload>) {
        for (const auto& wanted : names<direction>) {
          p.type = type.value;
          p.index = index.value;
          p.payload = answer.value;
          p.direction = wanted.value;
          if (check_support(entry, p, where)) all.push_back(p);
        }
      }
    }
  }
  return all;
}

// Runs the entry on generated rows and proves the answer.
inline void prove(const algorithm& entry, const workload& p, backend& place) {
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, 1);
  const input_rows input(place, rows);
  trial attempt(entry, p, input, place);
  attempt.prepare();
  const status result = attempt.run();
  ASSERT_TRUE(result.ok()) << entry.name << ", " << to_string(p) << ": " << result.message;
  EXPECT_EQ(attempt.disprove(), "") << entry.name << ", " << to_string(p);
}

inline std::size_t prove_all(const algorithm& entry, const workload& p, backend& place) {
  const auto problems = admitted(entry, p, place.description());
  for (const workload& each : problems) prove(entry, each, place);
  return problems.size();
}

}  // namespace kselect::testing_adapters
