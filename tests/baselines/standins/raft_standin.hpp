#pragma once
// What baselines/raft_select_k.cu uses of RAFT 26.10, as its headers declare it, over host memory:
// so that the adapter is compiled, and its buffers, types and directions are proven, where neither
// RAFT nor a GPU is. The selection is a sort; scratch is taken and written as RAFT would.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cuda_stream_standin.hpp"

namespace cuda {

namespace mr {
struct device_accessible {};
}  // namespace mr

}  // namespace cuda

namespace raft {

namespace mr {

// cuda::mr::any_resource<device_accessible>: holds a copy of what it is given.
class device_resource {
 public:
  device_resource() = default;
  template <class Resource>
  explicit device_resource(Resource held) {
    static_assert(noexcept(get_property(held, cuda::mr::device_accessible{})));
    static_assert(noexcept(held.deallocate_sync(nullptr, std::size_t{}, std::size_t{})));
    if (!(held == held)) throw std::logic_error("a resource that is not equal to itself");
    held.deallocate_sync(held.allocate_sync(0, 256), 0, 256);
    allocate = [held](cuda::stream_ref stream, std::size_t bytes) mutable {
      return held.allocate(stream, bytes, 256);
    };
    deallocate = [held](cuda::stream_ref stream, void* memory, std::size_t bytes) mutable {
      held.deallocate(stream, memory, bytes, 256);
    };
  }

  std::function<void*(cuda::stream_ref, std::size_t)> allocate;
  std::function<void(cuda::stream_ref, void*, std::size_t)> deallocate;
};

}  // namespace mr

struct resources {
  cuda::stream_ref stream{nullptr};
  mr::device_resource workspace;
  std::size_t workspace_limit = 0;
  bool dry_run = false;
};

namespace resource {

inline void set_cuda_stream(resources& res, cuda::stream_ref stream) { res.stream = stream; }
inline void set_workspace_resource(resources& res, raft::mr::device_resource mr,
                                   std::optional<std::size_t> allocation_limit = std::nullopt,
                                   std::optional<std::size_t> = std::nullopt) {
  res.workspace = std::move(mr);
  res.workspace_limit = allocation_limit.value_or(std::size_t{1} << 20);
}
inline void set_dry_run_flag(resources& res, bool value) { res.dry_run = value; }

}  // namespace resource

struct row_major {};

template <class T, class Index, class Layout>
struct device_matrix_view {
  T* data;
  Index rows, columns;
  T* data_handle() const { return data; }
  Index extent(int which) const { return which == 0 ? rows : columns; }
};
template <class T, class Index, class Layout>
device_matrix_view<T, Index, Layout> make_device_matrix_view(T* data, Index rows, Index columns) {
  return {data, rows, columns};
}

namespace matrix {

enum class SelectAlgo : std::uint8_t {
  kAuto = 0,
  kRadix8bits = 1,
  kRadix11bits = 2,
  kRadix11bitsExtraPass = 3,
  kWarpAuto = 4,
  kWarpImmediate = 5,
  kWarpFiltered = 6,
  kWarpDistributed = 7,
  kWarpDistributedShm = 8
};

// What the stand-in was asked for, and how much more scratch it takes than its dry run said.
struct standin_state {
  std::vector<SelectAlgo> asked;
  std::size_t undeclared_bytes = 0;
};
inline standin_state& standin() {
  static standin_state state;
  return state;
}

template <class T, class Index>
void select_k(const resources& handle, device_matrix_view<const T, std::int64_t, row_major> in_val,
              std::optional<device_matrix_view<const Index, std::int64_t, row_major>> in_idx,
              device_matrix_view<T, std::int64_t, row_major> out_val,
              device_matrix_view<Index, std::int64_t, row_major> out_idx, bool select_min,
              bool sorted = false, SelectAlgo algo = SelectAlgo::kAuto) {
  const std::int64_t q = in_val.extent(0), n = in_val.extent(1), k = out_val.extent(1);
  if (algo >= SelectAlgo::kWarpAuto && k > 256) throw std::runtime_error("Current max k is 256");
  if (in_idx || sorted || out_idx.extent(0) != q || out_idx.extent(1) != k) {
    throw std::runtime_error("not what the adapter asks for");
  }
  const auto bytes = static_cast<std::size_t>(n) * (sizeof(T) + sizeof(Index)) + 8 +
                     (handle.dry_run ? 0 : standin().undeclared_bytes);
  if (bytes > handle.workspace_limit) throw std::runtime_error("beyond the limit");
  void* const first = handle.workspace.allocate(handle.stream, bytes);
  void* const second = handle.workspace.allocate(handle.stream, bytes);
  if (!handle.dry_run) {
    standin().asked.push_back(algo);
    std::memset(first, 0x5a, bytes);
    std::memset(second, 0xa5, bytes);
    std::vector<Index> order(static_cast<std::size_t>(n));
    for (std::int64_t row = 0; row < q; ++row) {
      const T* const values = in_val.data_handle() + row * n;
      std::iota(order.begin(), order.end(), Index{0});
      std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return select_min ? values[a] < values[b] : values[b] < values[a];
      });
      for (std::int64_t j = 0; j < k; ++j) {
        const Index at = order[static_cast<std::size_t>(j)];
        out_val.data_handle()[row * k + j] = values[at];
        out_idx.data_handle()[row * k + j] = at;
      }
    }
  }
  handle.workspace.deallocate(handle.stream, second, bytes);
  handle.workspace.deallocate(handle.stream, first, bytes);
}

}  // namespace matrix
}  // namespace raft
