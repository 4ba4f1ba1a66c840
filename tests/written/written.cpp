// kselect with the files that `kselect new` wrote, as they are, beside its own.
// tests/cli/test_new.py demands that they are listed and pass the battery. `kselect_written
// check-metric` holds the written metric against its definition.

#include <cmath>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include "cli/program.hpp"
#include "search/metric/metrics/fresh_metric.hpp"
#include "src/registry_table.hpp"

namespace kselect::entries {
std::span<const algorithm> fresh_cpu();
std::span<const algorithm> fresh_kernel();
std::span<const algorithm> fresh_queue();
}  // namespace kselect::entries

namespace {

using kselect::search::metric_space::fresh_metric;
static_assert(kselect::search::metric_space::metric<fresh_metric>);

// Symmetric, zero between equal objects, and within the stated error of a sum in double.
bool metric_is_right() {
  constexpr std::int64_t count = 20, dimension = 13;
  std::mt19937 bits(1);
  std::normal_distribution<float> normal;
  std::vector<float> dense(count * dimension);
  for (float& x : dense) x = normal(bits);
  const fresh_metric::set objects(dense, count, dimension);
  const auto slack = fresh_metric::tolerance_of(objects);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      const float d = fresh_metric::distance(objects, i, fresh_metric::prepare(objects, j));
      double exact = 0;
      for (std::int64_t c = 0; c < dimension; ++c) {
        exact += std::fabs(double{objects.row(i)[c]} - double{objects.row(j)[c]});
      }
      if (std::fabs(d - exact) > slack.relative * exact + slack.absolute) return false;
      if (d != fresh_metric::distance(objects, j, fresh_metric::prepare(objects, i))) return false;
      if ((i == j) != (d == 0)) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kselect;
  if (argc == 2 && std::string_view(argv[1]) == "check-metric") return metric_is_right() ? 0 : 1;
  detail::add_entry_file({&entries::fresh_cpu, "baselines/fresh_cpu.cpp", "0"});
  detail::add_entry_file({&entries::fresh_kernel, "algorithms/fresh_kernel/fresh_kernel.cu", "0"});
  detail::add_entry_file({&entries::fresh_queue, "algorithms/queues/fresh_queue.cu", "0"});
  return cli::program(argc, argv);
}
