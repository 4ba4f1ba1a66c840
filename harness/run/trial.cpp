#include "harness/run/trial.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "harness/error.hpp"
#include "harness/verify/certificate.hpp"
#include "harness/verify/guard.hpp"

namespace kselect {

input_rows::input_rows(backend& place, std::span<const std::byte> host, const std::byte* device)
    : place_(&place),
      host_(host),
      device_(device),
      hash_(hash_bytes(host, place.description().threads)) {}

input_rows input_rows::at(backend& place, std::span<const std::byte> host,
                          const std::byte* device) {
  return {place, host, device};
}

input_rows::input_rows(backend& place, std::span<const std::byte> host)
    : input_rows(place, host, host.data()) {
  if (place.shares_host_memory()) return;
  copy_ = device_buffer(place, host.size());
  place.to_device(copy_.data(), host);
  device_ = copy_.data();
}

bool input_rows::unchanged() const {
  const int threads = place_->description().threads;
  if (place_->shares_host_memory()) return hash_bytes({device_, host_.size()}, threads) == hash_;
  std::vector<std::byte> now(host_.size());
  place_->to_host(now, device_);
  return hash_bytes(now, threads) == hash_;
}

std::byte* trial::guarded::data() const { return memory.data() + guard_bytes; }

trial::guarded trial::make_guarded(std::size_t bytes) {
  guarded buffer{device_buffer(place_, bytes + 2 * guard_bytes), bytes};
  std::vector<std::byte> band(guard_bytes);
  fill_guard(band);
  place_.to_device(buffer.memory.data(), band);
  place_.to_device(buffer.data() + bytes, band);
  return buffer;
}

trial::trial(const algorithm& entry, const problem& p, const input_rows& input, backend& place)
    : entry_(entry), problem_(p), input_(input), place_(place) {
  if (const support answer = check_support(entry, p, place.description()); !answer) {
    throw error(failure::unsupported,
                fmt::format("{} cannot do {}: {}", entry.name, to_string(p), answer.reason));
  }
  values_ = make_guarded(p.values_bytes());
  indices_ = make_guarded(p.indices_bytes());
  workspace_ = make_guarded(
      entry.workspace == nullptr ? 0 : entry.workspace(p, place.description()));
  if (entry.promises.modifies_input) own_input_ = device_buffer(place, input.host().size());
  poison_.resize(std::max(p.values_bytes(), p.indices_bytes()));
  poison(poison_);
  values_host_.resize(p.values_bytes());
  indices_host_.resize(p.indices_bytes());
}

void trial::prepare() {
  place_.to_device(values_.data(), std::span(poison_).first(values_.bytes));
  place_.to_device(indices_.data(), std::span(poison_).first(indices_.bytes));
  if (entry_.promises.modifies_input) {
    place_.copy(own_input_.data(), input_.device(), input_.host().size());
  }
}

timed_run trial::time() {
  const io buffers{
      .input = entry_.promises.modifies_input ? own_input_.data() : input_.device(),
      .values = values_.data(),
      .indices = problem_.has_indices() ? indices_.data() : nullptr,
  };
  return place_.time([&] {
    return entry_.enqueue(problem_, buffers, {workspace_.data(), workspace_.bytes},
                          place_.executor());
  });
}

std::string trial::damaged(const guarded& buffer, const char* name) {
  std::vector<std::byte> band(guard_bytes);
  place_.to_host(band, buffer.memory.data());
  if (const auto at = first_damaged(band)) {
    return fmt::format("wrote {} bytes before the start of {}",
                       static_cast<std::int64_t>(guard_bytes) - *at, name);
  }
  place_.to_host(band, buffer.data() + buffer.bytes);
  if (const auto at = first_damaged(band)) {
    return fmt::format("wrote {} bytes past the end of {}", *at + 1, name);
  }
  return {};
}

std::string trial::disprove() {
  for (const auto& [buffer, name] : {std::pair{&values_, "values"}, std::pair{&indices_, "indices"},
                                     std::pair{&workspace_, "the workspace"}}) {
    if (std::string what = damaged(*buffer, name); !what.empty()) return what;
  }
  if (!input_.unchanged()) return "changed its input";
  place_.to_host(values_host_, values_.data());
  place_.to_host(indices_host_, indices_.data());
  const io answer{.input = input_.host().data(),
                  .values = values_host_.data(),
                  .indices = problem_.has_indices() ? indices_host_.data() : nullptr};
  const verdict proof =
      verify(problem_, entry_.promises, answer, place_.description().threads);
  if (proof) return {};
  return fmt::format("{} of {} rows wrong; {}: {}", proof.rows_wrong, proof.rows_checked,
                     to_string(proof.first->failed), proof.first->detail);
}

}  // namespace kselect
