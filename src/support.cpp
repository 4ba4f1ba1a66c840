// The checks that all entries share: the declared fields and limits against a problem and a device.

#include "kselect/algorithm.hpp"

namespace kselect {
namespace {

template <class Enum>
std::string lacks(std::string_view what, Enum value) {
  return std::string(what) + " " + std::string(to_string(value)) + " is not supported";
}

std::string exceeds(const char* name, std::int64_t value, std::int64_t limit) {
  return value > limit ? std::string(name) + " > " + std::to_string(limit) : std::string{};
}

}  // namespace

support check_support(const algorithm& entry, const problem& p, const device& where) {
  const contract& promises = entry.promises;
  if (!entry.missing.empty()) return unsupported(std::string(entry.missing));
  if (!entry.executors.contains(where.kind)) return unsupported(lacks("executor", where.kind));
  if (!entry.dtypes.contains(p.type)) return unsupported(lacks("dtype", p.type));
  if (!entry.payloads.contains(p.payload)) return unsupported(lacks("payload", p.payload));
  if (!entry.layouts.contains(p.layout)) return unsupported(lacks("layout", p.layout));
  if (p.has_indices() && !entry.index_types.contains(p.index)) {
    return unsupported(lacks("index type", p.index));
  }
  for (std::string reason :
       {exceeds("n", p.n, promises.limits.max_n), exceeds("Q", p.q, promises.limits.max_q),
        exceeds("k", p.k, promises.limits.max_k)}) {
    if (!reason.empty()) return unsupported(std::move(reason));
  }
  if (p.has_indices() && p.index == index_type::int32 && p.n > std::int64_t{0x7fffffff}) {
    return unsupported("n > 2147483647 does not fit index type int32");
  }
  const auto pitch_bytes = p.effective_pitch() * static_cast<std::int64_t>(size_of(p.type));
  if (promises.limits.alignment != 0 && pitch_bytes % promises.limits.alignment != 0) {
    return unsupported("rows are not aligned to " + std::to_string(promises.limits.alignment) +
                       " bytes");
  }
  return entry.supports == nullptr ? supported() : entry.supports(p, where);
}

}  // namespace kselect
