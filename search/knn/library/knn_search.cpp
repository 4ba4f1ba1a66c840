// Searches on a device: a corpus and plans whose memory the caller lends.

#include <array>
#include <optional>

#include "search/knn/library/checks.hpp"
#include "search/knn/library/corpus_state.hpp"

#if KSELECT_KNN_ON_DEVICE
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/library/lent_place.hpp"

namespace kselect {
namespace search {
namespace {

constexpr std::int64_t most_vectors = (std::int64_t{1} << 31) - 1;

void run_now(fused::stage, const std::function<void()>& work) { work(); }

simt::product factors_of(knn_rounding to) {
  return to == knn_rounding::int8       ? simt::product::int8
         : to == knn_rounding::bfloat16 ? simt::product::bfloat16
                                        : simt::product::float16;
}

std::size_t bytes_for(const vector_rows& vectors, metric m, const place& where, knn_rounding to) {
  lent_place counted(where, {});
  const fused::prepared_corpus asks(counted, vectors.data, vectors.count, vectors.dimension, m,
                                    factors_of(to));
  return counted.needed();
}

void require_room(std::span<const std::byte> memory, std::size_t needed, const char* ask) {
  if (memory.size() >= needed) return;
  throw runtime::error(runtime::failure::usage, "the memory has " + std::to_string(memory.size()) +
                                                    " bytes, but " + std::to_string(needed) +
                                                    " are needed; ask " + ask);
}

void require_indexable(std::int64_t count) {
  if (count <= most_vectors) return;
  throw runtime::error(
      runtime::failure::unsupported,
      "on a device there are fewer than 2^31 vectors, not " + std::to_string(count));
}

fused::filtering filtering_of(const knn_filter& filter) {
  if (filter.words == nullptr) return fused::filtering::none;
  return filter.each() ? fused::filtering::each : fused::filtering::one;
}

}  // namespace

class device_corpus {
 public:
  device_corpus(const vector_rows& v, metric m, const place& where, std::span<std::byte> memory,
                knn_rounding to)
      : place_(where, memory), corpus(place_, v.data, v.count, v.dimension, m, factors_of(to)) {
    corpus.prepare(run_now);
  }

 private:
  lent_place place_;

 public:
  fused::prepared_corpus corpus;
};

void device_corpus_release::operator()(device_corpus* corpus) const { delete corpus; }

owned_device_corpus prepared_on_device(const vector_rows& vectors, metric m, const place& where,
                                       std::span<std::byte> memory, knn_rounding to) {
  require_indexable(vectors.count);
  require_room(memory, bytes_for(vectors, m, where, to), "knn_corpus::memory()");
  return owned_device_corpus(new device_corpus(vectors, m, where, memory, to));
}

}  // namespace search

using search::caught;
using search::invalid;

struct knn_search::state {
  state(const search::fused::prepared_corpus& of, std::int64_t queries, std::int64_t wanted,
        const knn_options& asked, const kselect::place& where, std::span<std::byte> memory)
      : lent(where, memory),
        corpus(of),
        count(queries),
        k(wanted),
        options(asked),
        nearest(lent, of, queries, wanted, asked.first_own >= 0,
                {.leaves_out = search::filtering_of(asked.filter)}) {}

  search::fused::admitted allowed() const {
    if (options.filter.words == nullptr) return {};
    const std::int64_t words = options.filter.each() ? (count - 1) * options.filter.pitch : 0;
    return {{options.filter.words, words + knn_filter::words_for(corpus.count())},
            options.filter.pitch};
  }

  search::lent_place lent;
  const search::fused::prepared_corpus& corpus;
  std::int64_t count, k;
  knn_options options;
  search::fused::fused_search nearest;
  bool enqueued = false;
};

knn_search::knn_search() = default;
knn_search::~knn_search() = default;
knn_search::knn_search(knn_search&&) noexcept = default;
knn_search& knn_search::operator=(knn_search&&) noexcept = default;

std::size_t knn_corpus::memory(const vector_rows& vectors, metric m, const place& where,
                               knn_rounding to) {
  if (!where.obstacle().empty() || where.device().kind == executor_kind::cpu) return 0;
  if (vectors.count < 1 || vectors.dimension < 1) return 0;
  std::size_t bytes = 0;
  const status counted = caught([&]() -> status {
    search::require_indexable(vectors.count);
    bytes = search::bytes_for(vectors, m, where, to);
    return {};
  });
  return counted.ok() ? bytes : 0;
}

// Why a search cannot be planned; empty if it can.
std::string knn_search::objection(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                                  const knn_options& options, const place& where) {
  if (!where.obstacle().empty()) return where.obstacle();
  if (std::string wrong = search::objection_to_search(corpus, queries, k, options);
      !wrong.empty()) {
    return wrong;
  }
  if (queries == 0) return "a search has at least one query";
  if (queries > search::most_vectors) return "a search has fewer than 2^31 queries";
  if (corpus.state_->device == nullptr) {
    return "the corpus is on the CPU: call its search()";
  }
  if (where.device().kind != corpus.state_->where.device().kind) {
    return "the search and its corpus are at different places";
  }
  return {};
}

std::size_t knn_search::workspace(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                                  const place& where, const knn_options& options) {
  if (!objection(corpus, queries, k, options, where).empty()) return 0;
  std::size_t bytes = 0;
  const status counted = caught([&]() -> status {
    const state asks(corpus.state_->device->corpus, queries, k, options, where, {});
    bytes = asks.lent.needed();
    return {};
  });
  return counted.ok() ? bytes : 0;
}

status knn_search::plan(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                        std::span<std::byte> workspace, const place& where,
                        const knn_options& options) {
  state_.reset();
  if (std::string wrong = objection(corpus, queries, k, options, where); !wrong.empty()) {
    return where.obstacle().empty() ? invalid(std::move(wrong))
                                    : status{status_code::unsupported, std::move(wrong)};
  }
  return caught([&]() -> status {
    search::require_room(workspace, knn_search::workspace(corpus, queries, k, where, options),
                         "knn_search::workspace()");
    state_ = std::make_unique<state>(corpus.state_->device->corpus, queries, k, options, where,
                                     workspace);
    return {};
  });
}

status knn_search::enqueue(const float* queries, std::span<float> distances,
                           std::span<std::int64_t> indices) {
  if (state_ == nullptr) return invalid("the search is not planned");
  state& s = *state_;
  if (queries == nullptr) return invalid("queries is null");
  if (std::string wrong = search::objection_to_answer(s.count, s.k, distances, indices);
      !wrong.empty()) {
    return invalid(std::move(wrong));
  }
  s.enqueued = false;
  return caught([&]() -> status {
    const std::int64_t rows = s.count * s.k;
    s.nearest.enqueue(queries, s.count, s.options.first_own,
                      {.indices = {indices.data(), rows},
                       .distances = {distances.empty() ? nullptr : distances.data(),
                                     distances.empty() ? 0 : rows},
                       .exact = {},
                       .k = s.k,
                       .root = s.corpus.measure() == metric::euclidean},
                      search::run_now, s.allowed());
    s.enqueued = true;
    return {};
  });
}

bool knn_search::by_products() const {
  return state_ != nullptr && state_->nearest.plan().filters();
}

status knn_search::unproven(std::int64_t& count) {
  if (state_ == nullptr || !state_->enqueued) return invalid("no search is enqueued");
  return caught([&]() -> status {
    count = state_->nearest.unproven();
    return {};
  });
}

status knn_search::finish() {
  if (state_ == nullptr || !state_->enqueued) return invalid("no search is enqueued");
  state& s = *state_;
  s.lent.own(true);
  status done = caught([&]() -> status {
    static_cast<void>(s.nearest.finish());
    return s.lent.synchronise();
  });
  s.lent.own(false);
  s.enqueued = false;
  return done;
}

}  // namespace kselect

#else

// `auto` is built alone: there are no kernels.
namespace kselect {
namespace {

constexpr char no_kernels[] = "this build of kselect::knn searches on the CPU alone";
status without_kernels() { return {status_code::unsupported, no_kernels}; }

}  // namespace

void search::device_corpus_release::operator()(device_corpus*) const {}
search::owned_device_corpus search::prepared_on_device(const vector_rows&, metric, const place&,
                                                       std::span<std::byte>, knn_rounding) {
  throw runtime::error(runtime::failure::unsupported, no_kernels);
}

struct knn_search::state {};
knn_search::knn_search() = default;
knn_search::~knn_search() = default;
knn_search::knn_search(knn_search&&) noexcept = default;
knn_search& knn_search::operator=(knn_search&&) noexcept = default;

std::size_t knn_corpus::memory(const vector_rows&, metric, const place&, knn_rounding) { return 0; }
std::size_t knn_search::workspace(const knn_corpus&, std::int64_t, std::int64_t, const place&,
                                  const knn_options&) {
  return 0;
}
status knn_search::plan(const knn_corpus&, std::int64_t, std::int64_t, std::span<std::byte>,
                        const place&, const knn_options&) {
  return without_kernels();
}
status knn_search::enqueue(const float*, std::span<float>, std::span<std::int64_t>) {
  return without_kernels();
}
bool knn_search::by_products() const { return false; }
status knn_search::unproven(std::int64_t&) { return without_kernels(); }
status knn_search::finish() { return without_kernels(); }

}  // namespace kselect

#endif
