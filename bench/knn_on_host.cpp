// Times k-NN on the host: the search by blocks (search/knn/host) beside what it replaced, float64
// products of all pairs and a selection from each row. One call is one arm; whoever compares takes
// turns (peers/knn_on_host.py).
//
//     kselect_knn_on_host blocks|products n queries dimension k threads runs
//
// Vectors are normally distributed floats, of integers mod 256 with a trailing argument `bytes`.
// Prints one line of JSON: seconds of each run by the clock and of the processors, without making
// the vectors, and a sum of all indices, which both arms must agree in.

#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "harness/select/select_rows.hpp"
#include "kselect/registry.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/distance/distance.hpp"
#include "search/knn/knn.hpp"

namespace {

using namespace kselect::search;

struct shape {
  std::int64_t n, queries, dimension, k;
  int threads, runs;
  bool bytes;
};

vector_set make(std::int64_t count, const shape& s, unsigned seed) {
  vector_set set;
  set.count = count;
  set.dimension = s.dimension;
  set.source = "generated vectors";
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < count * s.dimension; ++i) {
    set.data.push_back(s.bytes ? static_cast<float>(bits() % 256) : normal(bits));
  }
  return set;
}

// The search of earlier versions: rows of distances of as many queries as 256 MiB hold.
std::int64_t by_products(const shape& s, const vector_set& base, const vector_set& query,
                         const kselect::algorithm& entry, backend& place) {
  constexpr std::int64_t block_bytes = std::int64_t{256} << 20;
  const std::int64_t row_bytes = s.n * static_cast<std::int64_t>(sizeof(float));
  std::int64_t block = std::clamp<std::int64_t>(block_bytes / row_bytes, 1, s.queries);
  if (block > 256) block -= block % 256;
  const distance_calculator calculator(base.view(), metric::sqeuclidean, {.threads = s.threads});
  const host_buffer rows(static_cast<std::size_t>(block * row_bytes));
  kselect::problem p;
  p.n = s.n;
  p.k = s.k;
  p.index = preferred_index(entry);
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < s.queries; first += block) {
    p.q = std::min(block, s.queries - first);
    calculator.rows(query.data.data() + first * s.dimension, p.q,
                    reinterpret_cast<float*>(rows.data()), s.n);
    const selection found = select_rows(entry, p, {rows.data(), p.input_bytes()}, place);
    for (const std::int64_t i : found.indices) sum += i;
  }
  return sum;
}

std::int64_t by_blocks(const shape& s, const vector_set& base, const vector_set& query,
                       const kselect::algorithm& entry, backend& place) {
  std::int64_t sum = 0;
  knn({.base = base, .query = &query, .k = s.k, .entry = entry}, place, [&](const knn_block& b) {
    for (const std::int64_t i : b.indices) sum += i;
  });
  return sum;
}

int run(const std::string& arm, const shape& s) {
  const vector_set base = make(s.n, s, 1), query = make(s.queries, s, 2);
  const auto place = open_backend(kselect::executor_kind::cpu, s.threads);
  const kselect::algorithm& entry = *kselect::find_algorithm("auto")->algorithm;
  std::vector<double> seconds, processors;
  std::int64_t sum = 0;
  for (int i = 0; i < s.runs; ++i) {
    const std::clock_t worked = std::clock();  // by all threads
    const auto begin = std::chrono::steady_clock::now();
    sum = (arm == "blocks" ? by_blocks : by_products)(s, base, query, entry, *place);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds.push_back(taken.count());
    processors.push_back(static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
  }
  const auto print = [](const char* name, const std::vector<double>& values) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::printf("%s%.6f", i == 0 ? "" : ", ", values[i]);
    }
    std::printf("], ");
  };
  std::printf("{");
  print("seconds", seconds);
  print("processor_seconds", processors);
  std::printf("\"sum_of_indices\": %lld}\n", static_cast<long long>(sum));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  if (given.size() < 7 || (given[0] != "blocks" && given[0] != "products")) {
    std::fprintf(stderr, "%s blocks|products n queries dimension k threads runs [bytes]\n",
                 words[0]);
    return 2;
  }
  const auto number = [&](std::size_t i) { return std::stoll(given[i]); };
  try {
    return run(given[0], {number(1), number(2), number(3), number(4), static_cast<int>(number(5)),
                          static_cast<int>(number(6)), given.size() > 7});
  } catch (const std::exception& why) {
    std::fprintf(stderr, "%s: %s\n", words[0], why.what());
    return 1;
  }
}
