#pragma once
// The library's call: the k smallest (or largest) of each row of a matrix, with their positions.
//
//     kselect::place gpu = kselect::place::cuda(stream);
//     kselect::row_matrix<float> rows{.data = distances, .q = 1000, .n = 100'000};
//     std::size_t bytes = kselect::select_workspace<float, std::int32_t>(rows, 100, gpu);
//     kselect::status done =
//         kselect::select(rows, 100, values, indices, workspace, gpu);  // spans of device memory
//
// What is promised, in the words of CUB's requirements (contract.hpp), unless more is required by
// select_options, or another algorithm than "auto" is named, whose own contract then holds:
//   determinism      not_guaranteed: which of elements equal to the k-th are chosen, and the order,
//                    may differ from run to run; the values chosen never do
//   tie_break        unspecified
//   output_ordering  unsorted
//   NaN, -0          ordered by IEEE totalOrder (order.hpp): +NaN above +inf, -0 below +0
// On a GPU a call starts its work on the stream and returns: it allocates nothing, synchronises
// nothing and can be captured into a graph. On the CPU it returns when the answer is there.
//
// Errors are values. A fault of the GPU that shows later is, as with any launch, the error of the
// stream's next call.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kselect/algorithm.hpp"
#include "kselect/requirements.hpp"

namespace kselect {

// Q rows of n elements. Row-major: element (r, c) at r * pitch + c; column-major: c * pitch + r.
template <class T>
struct row_matrix {
  const T* data = nullptr;
  std::int64_t q = 0, n = 0;
  std::int64_t pitch = 0;  // elements between neighbouring rows (columns); 0: dense
  kselect::layout layout = layout::row_major;
};

// Where a call runs and where its memory is.
class place {
 public:
  // This process's CPUs: `threads` of them, or 0 for as many as it may use.
  static place cpu(int threads = 0);
  // The GPU that is current for the calling thread; `stream` is a cudaStream_t, null the default
  // one. Reads what it has to know about the GPU once and keeps it. Without CUDA in this build, or
  // without a GPU, every call returns `unsupported` and says so.
  static place cuda(void* stream = nullptr);

  const kselect::device& device() const { return *device_; }
  // Why nothing can run here; empty if it can.
  const std::string& obstacle() const { return obstacle_; }
  kselect::executor executor() const { return {device_, stream_, nullptr}; }

 private:
  place(const kselect::device* device, void* stream, std::string obstacle)
      : device_(device), stream_(stream), obstacle_(std::move(obstacle)) {}

  const kselect::device* device_;  // lives as long as the program
  void* stream_;
  std::string obstacle_;
};

struct select_options {
  kselect::direction direction = direction::smallest;
  // What the answer has to be, at the price of some more work on it. For instance
  //     {.require = {.ordering = output_ordering::sorted}}
  // is each row's best first; with .tie_break = tie_break::prefer_smaller_index or .determinism =
  // determinism::gpu_to_gpu the answer is one and the same everywhere, indices and order included.
  requirements require = {};
  // Another entry than `auto`; null: `auto`. For instance find_algorithm("qms-block")->algorithm,
  // which links in all algorithms. One that does not promise what is required is `unsupported`.
  const kselect::algorithm* algorithm = nullptr;
};

// Which elements T are. Specialise it for another type of the same layout, such as CUDA's __half:
//     template <> inline constexpr std::optional<kselect::dtype> kselect::dtype_of<__half> =
//         kselect::dtype::float16;
template <class T>
inline constexpr std::optional<dtype> dtype_of = {};
template <>
inline constexpr std::optional<dtype> dtype_of<float> = dtype::float32;
template <>
inline constexpr std::optional<dtype> dtype_of<double> = dtype::float64;
template <>
inline constexpr std::optional<dtype> dtype_of<float16> = dtype::float16;
template <>
inline constexpr std::optional<dtype> dtype_of<bfloat16> = dtype::bfloat16;

namespace detail {
template <class Index>
constexpr index_type index_type_of() {
  static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                "indices are std::int32_t or std::int64_t");
  return std::is_same_v<Index, std::int32_t> ? index_type::int32 : index_type::int64;
}

template <class T, class Index>
problem problem_of(const row_matrix<T>& rows, std::int64_t k, bool indexed,
                   const select_options& options) {
  problem p;
  p.n = rows.n;
  p.q = rows.q;
  p.k = k;
  static_assert(dtype_of<T> && sizeof(T) == size_of(*dtype_of<T>),
                "rows are of float, double, kselect::float16, kselect::bfloat16, or of a type for "
                "which kselect::dtype_of says which of these it is");
  p.type = *dtype_of<T>;
  p.index = index_type_of<Index>();
  p.direction = options.direction;
  p.payload = indexed ? payload::values_and_indices : payload::values;
  p.layout = rows.layout;
  p.pitch = rows.pitch;
  return p;
}

std::size_t workspace_for(const problem& p, const place& where, const select_options& options);
// `elements`: how many values and indices the caller has room for.
status select_checked(const problem& p, const io& buffers, std::int64_t values,
                      std::int64_t indices, std::span<std::byte> workspace, const place& where,
                      const select_options& options);
}  // namespace detail

// Bytes of scratch memory that select() needs at that place, aligned to 256; 0 also for a call that
// select() would refuse. The same for every direction.
template <class T, class Index>
std::size_t select_workspace(const row_matrix<T>& rows, std::int64_t k, const place& where,
                             const select_options& options = {}) {
  return detail::workspace_for(detail::problem_of<T, Index>(rows, k, true, options), where,
                               options);
}

// Writes the k smallest of each row to values[r * k ...] and their columns to indices[r * k ...].
//
// values, indices: at least Q * k elements each; without indices (an empty span) only the values
// are selected, for which the same workspace is enough. All memory is the place's own. Errors:
// `invalid`, with what is wrong: k not in 1..n, a span or the workspace too short, null data, a
// pitch shorter than a row; `unsupported`, with the reason; `failed` or `out_of_memory` from the
// launch. Nothing is started then.
template <class T, class Index>
status select(const row_matrix<T>& rows, std::int64_t k, std::span<T> values,
              std::span<Index> indices, std::span<std::byte> workspace, const place& where,
              const select_options& options = {}) {
  const problem p = detail::problem_of<T, Index>(rows, k, !indices.empty(), options);
  const io buffers{rows.data, values.data(), indices.data()};  // nvcc fails on a list as argument
  return detail::select_checked(p, buffers, static_cast<std::int64_t>(values.size()),
                                static_cast<std::int64_t>(indices.size()), workspace, where,
                                options);
}

}  // namespace kselect
