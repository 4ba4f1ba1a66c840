#include "search/knn/cuda/proven_selection.hpp"

#if KSELECT_HAS_CUDA

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "harness/verify/certificate.hpp"
#include "runtime/error.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t sample_size = 16;

// splitmix64. It picks sample rows that an algorithm cannot foresee.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::byte* at(const device_buffer& memory, std::int64_t offset) { return memory.data() + offset; }

}  // namespace

proven_selection::proven_selection(const algorithm& entry, backend& place, proof_scope scope,
                                   std::int64_t max_rows, std::int64_t kept)
    : entry_(entry), place_(place), scope_(scope), kept_(kept), index_(narrow_index(entry)) {
  const auto answers = static_cast<std::size_t>(max_rows * kept);
  values_ = device_buffer(place, answers * sizeof(float));
  positions_ = device_buffer(place, answers * size_of(index_));
}

selected proven_selection::run(float* rows, std::int64_t count, std::int64_t n,
                               std::int64_t pitch) {
  problem p;
  p.n = n;
  p.q = count;
  p.k = kept_;
  p.pitch = pitch;
  p.index = index_;
  const call_plan plan = plan_call(entry_, p, place_.description());
  if (!plan) {
    throw error(failure::unsupported,
                fmt::format("{} cannot do {}: {}", entry_.name, to_string(p), plan.reason()));
  }
  const std::size_t scratch = plan.workspace();
  if (workspace_.size() < scratch) {
    workspace_ = {};  // frees it before the larger one is allocated
    workspace_ = device_buffer(place_, scratch);
  }
  const std::vector<std::int64_t> sample = rows_to_prove(count);
  const std::vector<float> input = download(rows, p, sample);
  const io buffers{.input = rows, .values = values_.data(), .indices = positions_.data()};
  if (const status done = plan.enqueue(buffers, {workspace_.data(), scratch}, place_.executor());
      !done.ok()) {
    throw error(done.code == status_code::out_of_memory ? failure::resources : failure::unsupported,
                fmt::format("{} failed on {}: {}", entry_.name, to_string(p), done.message));
  }
  if (!sample.empty()) prove(p, sample, input);
  return {reinterpret_cast<const float*>(values_.data()), positions_.data(), index_, kept_};
}

std::vector<std::int64_t> proven_selection::rows_to_prove(std::int64_t count) {
  if (scope_ == proof_scope::none || !proves_) return {};
  const bool all = scope_ == proof_scope::all || count <= sample_size;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(all ? count : sample_size));
  std::iota(rows.begin(), rows.end(), 0);
  if (all) return rows;
  rows[1] = count - 1;
  for (std::size_t i = 2; i < rows.size(); ++i) {
    rows[i] =
        static_cast<std::int64_t>(mixed(samples_drawn_++) % static_cast<std::uint64_t>(count));
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Returns the sampled rows, dense. Poisons their answers, so that answers of an earlier run fail.
std::vector<float> proven_selection::download(const float* rows, const problem& p,
                                              const std::vector<std::int64_t>& sample) {
  std::vector<float> dense(sample.size() * static_cast<std::size_t>(p.n));
  const std::vector<std::byte> poison(static_cast<std::size_t>(kept_) * size_of(p.index),
                                      std::byte{0xff});
  float* to = dense.data();
  for (const std::int64_t row : sample) {
    place_.to_host(std::as_writable_bytes(std::span(to, static_cast<std::size_t>(p.n))),
                   reinterpret_cast<const std::byte*>(rows + p.offset(row, 0)));
    place_.to_device(at(positions_, row * static_cast<std::int64_t>(poison.size())), poison);
    to += p.n;
  }
  return dense;
}

void proven_selection::prove(const problem& p, const std::vector<std::int64_t>& sample,
                             const std::vector<float>& input) {
  if (const status done = place_.synchronise(); !done.ok()) {
    throw error(failure::unsupported,
                fmt::format("{} failed on {}: {}", entry_.name, to_string(p), done.message));
  }
  problem proven = p;
  proven.q = static_cast<std::int64_t>(sample.size());
  proven.pitch = 0;
  std::vector<std::byte> values(proven.values_bytes());
  std::vector<std::byte> indices(proven.indices_bytes());
  const auto fetch = [&](std::vector<std::byte>& to, const device_buffer& from) {
    const std::size_t row_bytes = to.size() / sample.size();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      place_.to_host(std::span(to).subspan(i * row_bytes, row_bytes),
                     at(from, sample[i] * static_cast<std::int64_t>(row_bytes)));
    }
  };
  fetch(values, values_);
  fetch(indices, positions_);
  const io answer{.input = input.data(), .values = values.data(), .indices = indices.data()};
  const verdict proof = verify(proven, entry_.promises, answer, place_.description().threads);
  if (!proof) {
    throw error(
        failure::wrong_answer,
        fmt::format("{} gave a wrong answer on {}: {} of {} proven rows wrong; {}", entry_.name,
                    to_string(p), proof.rows_wrong, proof.rows_checked, proof.first->detail));
  }
  rows_proven_ += proof.rows_checked;
}

}  // namespace kselect::search

#endif
