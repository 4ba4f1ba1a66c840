#pragma once
// What a prepared corpus of the library holds: one for the host's search, or one on a device.

#include <memory>
#include <optional>
#include <span>

#include "kselect/knn.hpp"
#include "search/knn/host/prepared_corpus.hpp"

namespace kselect::search {

// A corpus in the memory of a device, for the fused search.
class device_corpus;

struct device_corpus_release {
  void operator()(device_corpus* corpus) const;
};
using owned_device_corpus = std::unique_ptr<device_corpus, device_corpus_release>;

// Throws error(failure::unsupported) where there is no fused search, error(failure::usage) for
// memory that is too short.
owned_device_corpus prepared_on_device(const vector_rows& vectors, metric m, const place& where,
                                       std::span<std::byte> memory, knn_rounding to);

}  // namespace kselect::search

namespace kselect {

struct knn_corpus::state {
  state(const vector_rows& vectors, metric m, const place& at, std::span<std::byte> memory,
        knn_rounding to);

  place where;
  std::int64_t count, dimension;
  std::optional<search::prepared_corpus> host;
  search::owned_device_corpus device;
};

}  // namespace kselect
