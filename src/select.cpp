// The library's call. An algorithm's `enqueue` relies on the checks made here.

#include "kselect/select.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "src/gpu_code.hpp"
#include "src/gpu_device.hpp"

namespace kselect {

namespace entries {
std::span<const algorithm> auto_select();
}

namespace {

// Stands for `auto` in a build without it.
const algorithm& auto_left_out() {
  static const algorithm none = [] {
    algorithm a;
    a.name = "auto";
    a.missing = "this build leaves auto out (KSELECT_ALGORITHMS); name an algorithm in the options";
    return a;
  }();
  return none;
}

// The named entry, or the cheapest form of `auto` that keeps the requirements.
const algorithm& chosen(const select_options& options) {
  if (options.algorithm != nullptr) return *options.algorithm;
  const auto forms = entries::auto_select();
  if (forms.empty()) return auto_left_out();
  const auto found = std::ranges::find_if(
      forms, [&](const algorithm& a) { return keeps(a.promises, options.require); });
  return found != forms.end() ? *found : forms.back();
}

// check_support plus the requirements.
support supports(const algorithm& entry, const problem& p, const place& where,
                 const requirements& wanted) {
  if (entry.missing.empty() && !keeps(entry.promises, wanted)) {
    const contract& c = entry.promises;
    return unsupported("it promises no more than " + std::string(to_string(c.ordering)) + ", " +
                       std::string(to_string(c.tie_break)) + ", " +
                       std::string(to_string(c.determinism)) + "; required are " +
                       std::string(to_string(wanted.ordering)) + ", " +
                       std::string(to_string(wanted.tie_break)) + ", " +
                       std::string(to_string(wanted.determinism)));
  }
  return check_support(entry, p, where.device());
}

std::string number(std::int64_t value) { return std::to_string(value); }

// The reason why a call is invalid, as a sentence; empty if it is valid.
std::string objection(const problem& p, const detail::call_buffers& buffers) {
  const std::int64_t values = buffers.value_count, indices = buffers.index_count;
  const std::int64_t shortest = p.layout == layout::row_major ? p.n : p.q;
  if (p.q < 1 || p.n < 1) {
    return "the matrix is empty: Q = " + number(p.q) + ", n = " + number(p.n);
  }
  if (p.k < 1 || p.k > p.n) {
    return "k = " + number(p.k) + ", but must be 1 to n = " + number(p.n);
  }
  if (p.pitch != 0 && p.pitch < shortest) {
    return "pitch = " + number(p.pitch) + ", but must be 0 or at least " + number(shortest);
  }
  if (buffers.rows == nullptr) return "rows.data is null";
  if (values < p.q * p.k) {
    return "values has " + number(values) + " elements, but Q * k = " + number(p.q * p.k) +
           " are written";
  }
  if (p.has_indices() && indices < p.q * p.k) {
    return "indices has " + number(indices) + " elements, but Q * k = " + number(p.q * p.k) +
           " are written";
  }
  return {};
}

// Algorithms want their scratch memory to begin at a multiple of this. Callers need not know it.
constexpr std::size_t workspace_alignment = 256;

// The first `needed` bytes of a workspace that are aligned; shorter if they do not fit.
std::span<std::byte> aligned_part(std::span<std::byte> workspace, std::size_t needed) {
  if (needed == 0) return {};
  const std::size_t above =
      reinterpret_cast<std::uintptr_t>(workspace.data()) % workspace_alignment;
  const std::size_t skipped = above == 0 ? 0 : workspace_alignment - above;
  if (workspace.size() < skipped + needed) return {};
  return workspace.subspan(skipped, needed);
}

// With room to align what an algorithm needs.
std::size_t with_alignment(std::size_t needed) {
  return needed == 0 ? 0 : needed + workspace_alignment - 1;
}

#if KSELECT_HAS_CUDA

std::string text(cudaError_t code) {
  static_cast<void>(cudaGetLastError());
  return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
}

struct gpu {
  device description;
  std::string obstacle;
};

gpu read_gpu(int ordinal) {
  gpu read;
  cudaDeviceProp properties{};
  if (const auto code = cudaGetDeviceProperties(&properties, ordinal); code != cudaSuccess) {
    read.obstacle = "no usable GPU: " + text(code);
  }
  read.description = describe_gpu(properties);
  if (read.obstacle.empty()) read.obstacle = cut_shared_memory(read.description);
  if (read.obstacle.empty()) read.obstacle = why_no_code(code_here(read.description));
  return read;
}

// The description of a GPU. It is read on first use and cached.
const gpu& gpu_number(int ordinal) {
  static std::mutex guard;
  static std::vector<std::unique_ptr<gpu>> known;
  const std::scoped_lock lock(guard);
  if (known.size() <= static_cast<std::size_t>(ordinal)) {
    known.resize(static_cast<std::size_t>(ordinal) + 1);
  }
  auto& slot = known[static_cast<std::size_t>(ordinal)];
  if (slot == nullptr) slot = std::make_unique<gpu>(read_gpu(ordinal));
  return *slot;
}

#endif

device described_cpu(int threads) {
  device d;
  d.kind = executor_kind::cpu;
  d.name = "cpu";
  d.threads = threads;
  return d;
}

}  // namespace

place place::cpu(int threads) {
  static std::mutex guard;
  static std::vector<std::unique_ptr<kselect::device>> known;
  if (threads <= 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::scoped_lock lock(guard);
  for (const auto& d : known) {
    if (d->threads == threads) return {d.get(), nullptr, {}};
  }
  known.push_back(std::make_unique<kselect::device>(described_cpu(threads)));
  return {known.back().get(), nullptr, {}};
}

place place::cuda(void* stream) {
#if KSELECT_HAS_CUDA
  int ordinal = 0;
  if (const auto code = cudaGetDevice(&ordinal); code == cudaSuccess) {
    const gpu& found = gpu_number(ordinal);
    return {&found.description, stream, found.obstacle};
  } else {
    static const kselect::device none{.kind = executor_kind::cuda, .name = {}};
    return {&none, stream, "no usable GPU: " + text(code)};
  }
#else
  static const kselect::device none{.kind = executor_kind::cuda, .name = {}};
  return {&none, stream, "this build of kselect has no CUDA"};
#endif
}

namespace {

// The most that either payload needs: for values alone, `auto` may choose another member.
std::size_t most_workspace(const algorithm& entry, const problem& p, const place& where,
                           const requirements& wanted) {
  problem values_only = p;
  values_only.payload = payload::values;
  std::size_t bytes = 0;
  for (const problem& one : {p, values_only}) {
    if (!supports(entry, one, where, wanted) || entry.workspace == nullptr) continue;
    bytes = std::max(bytes, entry.workspace(one, where.device()));
  }
  return bytes;
}

// Whether the call can begin; if not, its error.
status admit(const algorithm& entry, const problem& p, const detail::call_buffers& buffers,
             const place& where, const select_options& options) {
  if (!where.obstacle().empty()) return {status_code::unsupported, where.obstacle()};
  if (std::string wrong = objection(p, buffers); !wrong.empty()) {
    return {status_code::invalid, std::move(wrong)};
  }
  if (const support able = supports(entry, p, where, options.require); !able) {
    return {status_code::unsupported, std::string(entry.name) + ": " + able.reason};
  }
  return {};
}

std::size_t workspace_of(const algorithm& entry, const problem& p, const place& where) {
  return entry.workspace == nullptr ? 0 : entry.workspace(p, where.device());
}

status start(const algorithm& entry, const problem& p, const detail::call_buffers& buffers,
             std::span<std::byte> aligned, const place& where) {
  return entry.enqueue(p, {buffers.rows, buffers.values, buffers.indices}, aligned,
                       where.executor());
}

}  // namespace

std::size_t detail::workspace_for(const problem& p, const place& where,
                                  const select_options& options) {
  const algorithm& entry = chosen(options);
  if (p.q < 1 || p.n < 1 || p.k < 1 || p.k > p.n || !where.obstacle().empty()) return 0;
  return with_alignment(most_workspace(entry, p, where, options.require));
}

status detail::select_checked(const problem& p, const call_buffers& buffers,
                              std::span<std::byte> workspace, const place& where,
                              const select_options& options) {
  const algorithm& entry = chosen(options);
  if (status refused = admit(entry, p, buffers, where, options); !refused.ok()) return refused;
  const std::size_t needed = workspace_of(entry, p, where);
  const std::span<std::byte> aligned = aligned_part(workspace, needed);
  if (aligned.size() < needed) {
    return {status_code::invalid, "the workspace has " + std::to_string(workspace.size()) +
                                      " bytes, but " + std::to_string(with_alignment(needed)) +
                                      " are needed; ask select_workspace()"};
  }
  return start(entry, p, buffers, aligned, where);
}

status detail::select_allocating(const problem& p, const call_buffers& buffers, const place& where,
                                 const select_options& options) {
  const algorithm& entry = chosen(options);
  if (where.device().kind != executor_kind::cpu) {
    return {status_code::invalid,
            "a call on a GPU allocates nothing; pass a workspace of select_workspace() bytes"};
  }
  if (status refused = admit(entry, p, buffers, where, options); !refused.ok()) return refused;
  const std::size_t needed = workspace_of(entry, p, where);
  struct release {
    void operator()(void* memory) const {
      ::operator delete (memory, std::align_val_t{workspace_alignment});
    }
  };
  std::unique_ptr<void, release> memory;
  if (needed != 0) {
    memory.reset(::operator new (needed, std::align_val_t{workspace_alignment}, std::nothrow));
    if (memory == nullptr) {
      return {status_code::out_of_memory,
              "no memory for a workspace of " + std::to_string(needed) + " bytes"};
    }
  }
  return start(entry, p, buffers, {static_cast<std::byte*>(memory.get()), needed}, where);
}

}  // namespace kselect
