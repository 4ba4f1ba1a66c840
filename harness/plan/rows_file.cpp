#include "harness/plan/rows_file.hpp"

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kselect/order.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/content_hashes.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/row_types.hpp"

namespace kselect::harness {
namespace {

dtype row_type_of(const npy_file& matrix, const std::filesystem::path& file) {
  if (matrix.shape().size() != 2) {
    throw error(failure::input,
                fmt::format("{}: has {}, but rows are a matrix (Q x n); numpy's "
                            ".reshape(1, -1) makes one row",
                            file.string(), runtime::amount_of(matrix.shape().size(), "dimension")));
  }
  return runtime::row_type(file.string(), matrix.type());
}

class rows_source final : public input_source {
 public:
  rows_source(const std::filesystem::path& file, int threads)
      : matrix_(npy_file::open(file)), type_(row_type_of(matrix_, file)), threads_(threads) {
    const input_file bytes = input_file::open(file);
    hash_ = content_hashes::of(bytes);
    name_ = file.filename().string();
    contents_ = look_through();
    matrix_.require_unchanged();
  }

  std::optional<dataset_sizes> sizes() const override {
    return dataset_sizes{.base = columns(), .queries = rows(), .type = type_};
  }
  nlohmann::ordered_json description() const override {
    return {{"kind", "rows"},
            {"name", name_},
            {"hash", hash_},
            {"rows", rows()},
            {"columns", columns()}};
  }
  row_contents contents() const override { return contents_; }

  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> out,
                                     int variant) const override {
    if (p.q == 0 || p.n == 0) return std::nullopt;
    const std::int64_t first = variant * p.q % rows();
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t r = 0; r < p.q; ++r) copy_row(p, (first + r) % rows(), r, out.data());
    matrix_.require_unchanged();
    return std::nullopt;
  }

 private:
  std::int64_t rows() const { return matrix_.shape()[0]; }
  std::int64_t columns() const { return matrix_.shape()[1]; }
  std::int64_t place_of(std::int64_t r, std::int64_t c) const {
    return matrix_.fortran_order() ? c * rows() + r : r * columns() + c;
  }

  void copy_row(const workload& p, std::int64_t from, std::int64_t to, std::byte* out) const {
    const auto bytes = static_cast<std::int64_t>(size_of(type_));
    const bool together = !matrix_.fortran_order() && p.layout == layout::row_major;
    const std::int64_t step = together ? p.n : 1;
    for (std::int64_t c = 0; c < p.n; c += step) {
      std::memcpy(out + p.offset(to, c) * bytes, matrix_.data() + place_of(from, c) * bytes,
                  static_cast<std::size_t>(step * bytes));
    }
  }

  row_contents look_through() const {
    return visit_number(type_, [this]<class T>(T) {
      const T* const elements = reinterpret_cast<const T*>(matrix_.data());
      bool nan = false, infinite = false;
#pragma omp parallel for num_threads(threads_) reduction(|| : nan, infinite)
      for (std::int64_t i = 0; i < rows() * columns(); ++i) {
        nan = nan || is_nan(elements[i]);
        infinite = infinite || is_infinite(elements[i]);
      }
      return row_contents{nan, infinite};
    });
  }

  npy_file matrix_;
  dtype type_;
  int threads_;
  std::string name_, hash_;
  row_contents contents_;
};

}  // namespace

std::unique_ptr<input_source> open_rows(const std::filesystem::path& file, int threads) {
  return std::make_unique<rows_source>(file, threads);
}

}  // namespace kselect::harness
