// Every vector unit of this machine gives the answer that a sort gives.

#include <algorithm>
#include <cstdio>
#include <kselect/select.hpp>
#include <numeric>
#include <random>
#include <vector>

#if __has_include(<hwy/targets.h>)
#include <hwy/targets.h>
#endif

namespace {

// Rows full of ties, as well as random ones.
std::vector<double> some_rows(std::int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<double> rows(static_cast<std::size_t>(count));
  for (double& x : rows) x = static_cast<double>(seed % 2 == 0 ? bits() : bits() % 50);
  return rows;
}

template <class T>
bool right(std::int64_t q, std::int64_t n, std::int64_t k, unsigned seed) {
  const std::vector<double> wide = some_rows(q * n, seed);
  const std::vector<T> data(wide.begin(), wide.end());
  std::vector<T> values(static_cast<std::size_t>(q * k));
  std::vector<std::int64_t> indices(values.size());
  const kselect::status done =
      kselect::select(kselect::row_matrix<T>{.data = data.data(), .q = q, .n = n}, k, values,
                      indices, kselect::place::cpu(2),
                      {.require = {.ordering = kselect::output_ordering::stable_sorted,
                                   .tie_break = kselect::tie_break::prefer_smaller_index}});
  if (!done.ok()) return std::puts(done.message.c_str()), false;
  for (std::int64_t r = 0; r < q; ++r) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t c) { return data[r * n + c]; });
    for (std::int64_t j = 0; j < k; ++j) {
      if (indices[r * k + j] != order[j] || values[r * k + j] != data[r * n + order[j]]) {
        std::printf("wrong: %zu bytes, Q = %lld, n = %lld, k = %lld, seed %u\n", sizeof(T),
                    static_cast<long long>(q), static_cast<long long>(n), static_cast<long long>(k),
                    seed);
        return false;
      }
    }
  }
  return true;
}

bool all_right() {
  bool so = true;
  unsigned seed = 0;
  for (const std::int64_t n : {1, 3, 16, 33, 64, 65, 1000, 70000, 300000}) {
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{10}, n / 12, n / 2, n}) {
      if (k < 1 || k > n) continue;
      so &= right<float>(3, n, k, seed++) && right<double>(1, n, k, seed++);
    }
  }
  return so;
}

}  // namespace

// With an argument, the unit that a call takes by itself is enough.
int main(int count, char**) {
  bool so = all_right();
  if (count > 1) return so ? 0 : 1;
#if __has_include(<hwy/targets.h>)
  const auto supported = hwy::SupportedTargets();
  for (auto rest = supported; rest != 0; rest &= rest - 1) {
    const auto target = rest & -rest;
    std::printf("%s\n", hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    so &= all_right();
  }
#endif
  return so ? 0 : 1;
}
