// What the readers need of the rest of the program: two algorithms by name, and the metrics'
// objects without their searches.

#include <array>
#include <cstdlib>

#include "algorithms/auto_select/cost_table.hpp"
#include "runtime/error.hpp"
#include "search/metric/metrics/euclidean.hpp"
#include "search/metric/metrics/levenshtein.hpp"
#include "search/metric/sets.hpp"
#include "src/registry_table.hpp"

namespace kselect {
namespace {

std::span<const algorithm> two_algorithms() {
  static const std::array<algorithm, 2> all = [] {
    std::array<algorithm, 2> made{};
    made[0].name = "cpu/heap";
    made[1].name = "cpu/sort";
    return made;
  }();
  return all;
}

}  // namespace

std::span<const cost_table> cost_tables() { return {}; }

namespace detail {
std::span<const entry_file> entry_files() {
  static const entry_file files[] = {{two_algorithms, "baselines/named.cpp", "0123456789abcdef"}};
  return files;
}
std::span<const std::string_view> built_globs() {
  static const std::string_view globs[] = {"*"};
  return globs;
}
std::span<const absent_file> absent_files() { return {}; }
}  // namespace detail

namespace search::metric_space {
namespace {

// Reads objects; nothing here searches them.
template <metric M>
class objects_of final : public space {
 public:
  std::string_view source_hash() const override { return ""; }
  std::string_view metric_name() const override { return M::name; }
  std::string_view objects_name() const override { return M::objects; }
  std::unique_ptr<object_set> load(const std::string& file) const override {
    return std::make_unique<set_holder<M>>(M::load(file));
  }
  std::unique_ptr<object_set> read(const sections& from) const override {
    return std::make_unique<set_holder<M>>(M::read(from));
  }
  void adapt(object_set&, const object_set&) const override { std::abort(); }
  cluster_list build_clusters(const object_set&, std::int64_t, backend&,
                              job_watch*) const override {
    std::abort();
  }
  cluster_list build_clusters_within(const object_set&, float, backend&,
                                     job_watch*) const override {
    std::abort();
  }
  pivot_table build_pivots(const object_set&, pivot_rule, backend&, job_watch*) const override {
    std::abort();
  }
  std::unique_ptr<searcher> open(const object_set&, const index_data&, backend&,
                                 const search_options&) const override {
    std::abort();
  }
  void distances(const object_set&, const object_set&, std::int64_t,
                 std::span<float>) const override {
    std::abort();
  }
};

}  // namespace

std::uint64_t object_set::hash() const {
  sections parts;
  write(parts);
  std::uint64_t sum = 0;
  for (const section& part : parts) {
    for (const std::byte b : part.bytes) sum = sum * 31 + std::to_integer<std::uint64_t>(b);
  }
  return sum;
}

const space& find_space(std::string_view name) {
  static const objects_of<euclidean> vectors;
  static const objects_of<levenshtein> words;
  if (name == euclidean::name) return vectors;
  if (name == levenshtein::name) return words;
  throw runtime::error(runtime::failure::usage, "unknown metric");
}

}  // namespace search::metric_space
}  // namespace kselect
