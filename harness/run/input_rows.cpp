#include "harness/run/input_rows.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/verify/device/words.hpp"
#include "harness/verify/guard.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

input_rows::input_rows(backend& place, std::span<const std::byte> host, const std::byte* device)
    : place_(&place), bytes_(host.size()), host_(host), device_(device), hash_(hash_of(host)) {}

input_rows::input_rows(backend& place, const std::byte* device, std::size_t bytes)
    : place_(&place), bytes_(bytes), device_(device), hash_(hash_words(place, device, bytes)) {}

std::uint64_t input_rows::hash_of(std::span<const std::byte> host) const {
  const int threads = place_->description().threads;
  return place_->proves_in_place() ? hash_words(host, threads) : hash_bytes(host, threads);
}

input_rows input_rows::at(backend& place, std::span<const std::byte> host,
                          const std::byte* device) {
  return {place, host, device};
}

input_rows input_rows::made_at(backend& place, const std::byte* device, std::size_t bytes) {
  return {place, device, bytes};
}

input_rows::input_rows(backend& place, std::span<const std::byte> host)
    : input_rows(place, host, host.data()) {
  if (place.shares_host_memory()) return;
  copy_ = device_buffer(place, host.size());
  place.to_device(copy_.data(), host);
  device_ = copy_.data();
}

std::span<const std::byte> input_rows::host() const {
  if (host_.size() == bytes_) return host_;
  undo();
  if (const status done = time_to_host().outcome; !done.ok()) {
    throw error(failure::unsupported, "copying rows to the host: " + done.message);
  }
  const std::span<const std::byte> copy(host_copy_.data(), bytes_);
  if (hash_of(copy) != hash_) {
    throw error(
        failure::unsupported,
        fmt::format("the rows copied from {} to the host differ from the rows made there; either "
                    "something wrote to them, or the copy failed",
                    place_->description().name));
  }
  host_ = copy;
  redo();
  return host_;
}

timed_run input_rows::time_to_host() const {
  if (host_copy_.size() < bytes_) host_copy_ = host_buffer(bytes_);
  return place_->time([&] {
    place_->to_host({host_copy_.data(), bytes_}, device_);
    return status{};
  });
}

void input_rows::give_numbers(const row_places& arrays) {
  for (const auto& [to, from] :
       {std::pair{&lengths_, arrays.lengths}, std::pair{&starts_, arrays.starts},
        std::pair{&k_each_, arrays.k_each}, std::pair{&map_, arrays.map},
        std::pair{&mask_, arrays.mask}}) {
    if (from.empty()) continue;
    to->host.assign(from.begin(), from.end());
    to->device = device_buffer(*place_, from.size());
    place_->to_device(to->device.data(), from);
  }
}

void input_rows::give_places(const workload& p) {
  std::vector<std::int32_t> lengths;
  if (p.lengths != row_numbers::none) lengths = make_lengths(p.row_lengths, p.n, p.q, p.seed);
  const auto mask = make_mask(p.drawn_mask, p.n, p.q, p.seed);
  give_numbers({.lengths = std::as_bytes(std::span(lengths)),
                .starts = {},
                .mask = std::as_bytes(std::span(mask))});
}

bool input_rows::unchanged() const {
  if (!shows_changes()) return false;
  for (const numbers* const each : {&lengths_, &starts_, &k_each_, &map_, &mask_}) {
    std::vector<std::byte> now(each->host.size());
    if (!now.empty()) place_->to_host(now, each->device.data());
    if (now != each->host) return false;
  }
  undo();
  const std::uint64_t now = place_->proves_in_place()
                                ? hash_words(*place_, device_, bytes_)
                                : hash_bytes({device_, bytes_}, place_->description().threads);
  redo();
  return now == hash_;
}

void input_rows::put(std::size_t at, std::span<const std::byte> bytes) const {
  place_->to_device(const_cast<std::byte*>(device_) + at, bytes);
  if (host_.empty() || host_.data() == device_) return;
  std::ranges::copy(bytes, const_cast<std::byte*>(host_.data()) + at);
}

void input_rows::undo() const {
  for (auto each = changes_.rbegin(); each != changes_.rend(); ++each) {
    put(each->at, std::span(each->before).first(each->bytes));
  }
}

void input_rows::redo() const {
  for (const change& each : changes_) put(each.at, std::span(each.after).first(each.bytes));
}

bool input_rows::shows_changes() const {
  std::array<std::byte, 8> now{};
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const change& each = changes_[i];
    const auto later = changes_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::any_of(later, changes_.end(), [&](const change& c) { return c.at == each.at; })) {
      continue;
    }
    place_->to_host(std::span(now).first(each.bytes), device_ + each.at);
    if (!std::equal(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(each.bytes),
                    each.after.begin())) {
      return false;
    }
  }
  return true;
}

void input_rows::write(std::size_t at, std::span<const std::byte> element) {
  change made{at, element.size(), {}, {}};
  place_->to_host(std::span(made.before).first(element.size()), device_ + at);
  std::ranges::copy(element, made.after.begin());
  changes_.push_back(made);
  put(at, element);
}

void input_rows::restore() {
  undo();
  changes_.clear();
}

}  // namespace kselect::harness
