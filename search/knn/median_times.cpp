#include "search/knn/median_times.hpp"

#include <vector>

#include "harness/measure/statistics.hpp"

namespace kselect::search {
namespace {

template <class Value>
double median_of(std::span<const cuda_knn_times> repeats, Value value) {
  std::vector<double> values;
  for (const cuda_knn_times& repeat : repeats) values.push_back(value(repeat));
  return summarise(values).median;
}

}  // namespace

std::span<const cuda_knn_times> counted(std::span<const cuda_knn_times> repeats) {
  return repeats.size() > 1 ? repeats.subspan(1) : repeats;
}

median_times medians_of(std::span<const cuda_knn_times> repeats) {
  const auto those = counted(repeats);
  median_times found;
  found.repeats = those.size();
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    found.stages.*stage.time =
        median_of(those, [&](const cuda_knn_times& t) { return t.*stage.time; });
  }
  found.total = median_of(those, [](const cuda_knn_times& t) { return t.total(); });
  return found;
}

double share_of_products(double multiplied, std::int64_t dimension, double seconds,
                         double product_rate) {
  if (seconds <= 0 || product_rate <= 0) return 0;
  return 2 * multiplied * static_cast<double>(dimension) / seconds / product_rate;
}

}  // namespace kselect::search
