#include "harness/run/trial.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "harness/verify/certificate.hpp"
#include "harness/verify/device/certificate_on_device.hpp"
#include "harness/verify/device/words.hpp"
#include "harness/verify/guard.hpp"
#include "runtime/backend/ticks.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
namespace {

constexpr std::size_t largest_poison = 1 << 20;  // bytes, a multiple of the pattern's length
// Longest row that the host proves a second time.
constexpr std::int64_t longest_second_proof = 1 << 18;

// A pseudo-random row that no algorithm can know in advance: another one for every proof.
std::int64_t some_row(std::int64_t q) {
  static std::atomic<std::int64_t> drawn;
  return static_cast<std::int64_t>(hash_of_word(0, ++drawn) % static_cast<std::uint64_t>(q));
}

}  // namespace

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
    : entry_(entry),
      problem_(p),
      plan_(plan_call(entry, p, place.description())),
      input_(&input),
      place_(place) {
  if (!plan_) {
    throw error(failure::unsupported,
                fmt::format("{} cannot do {}: {}", entry.name, to_string(p), plan_.reason()));
  }
  values_ = make_guarded(p.values_bytes());
  indices_ = make_guarded(p.indices_bytes());
  workspace_ = make_guarded(plan_.workspace());
  if (entry.promises.modifies_input) own_input_ = device_buffer(place, input.bytes());
  if (!place_.proves_in_place()) {
    const std::size_t largest = std::max({p.values_bytes(), p.indices_bytes(), workspace_.bytes});
    poison_.resize(std::min(largest, largest_poison));
    poison(poison_);
  }
  poison_output(workspace_);  // nothing of another entry's may be found there
}

trial::~trial() {
  try {
    for (const guarded* const each : {&values_, &indices_, &workspace_}) poison_output(*each);
  } catch (const std::exception&) {
    // A lost GPU gives no memory to anybody any more.
  }
  poison(values_host_);
  poison(indices_host_);
}

// Outputs may be large. A backend that proves in place also fills in place; for others a block is
// copied once and doubled there.
void trial::poison_output(const guarded& output) {
  if (place_.proves_in_place()) {
    fill_words(place_, output.data(), output.bytes, poison_as_word());
    return;
  }
  const std::size_t first = std::min(output.bytes, poison_.size());
  place_.to_device(output.data(), std::span(poison_).first(first));
  for (std::size_t done = first; done < output.bytes; done *= 2) {
    place_.copy(output.data() + done, output.data(), std::min(done, output.bytes - done));
  }
}

void trial::prepare() {
  poison_output(values_);
  poison_output(indices_);
  if (entry_.promises.modifies_input) {
    place_.copy(own_input_.data(), input_->device(), input_->bytes());
  }
  // Wait here, so that no timed run includes the poisoning.
  if (const status done = place_.synchronise(); !done.ok()) {
    throw error(failure::unsupported, "poisoning the outputs: " + done.message);
  }
}

io trial::buffers() const {
  return {.input = entry_.promises.modifies_input ? own_input_.data() : input_->device(),
          .values = problem_.has_values() ? values_.data() : nullptr,
          .indices = problem_.has_indices() ? indices_.data() : nullptr,
          .lengths = input_->lengths().device.data(),
          .starts = input_->starts().device.data(),
          .k_each = input_->k_each().device.data(),
          .map = input_->map().device.data(),
          .mask = input_->mask().device.data()};
}

status trial::guarded_call() {
  try {
    return plan_.enqueue(buffers(), {workspace_.data(), workspace_.bytes}, place_.executor());
  } catch (const std::bad_alloc&) {
    return {status_code::out_of_memory, "the host is out of memory"};
  } catch (const std::exception& thrown) {  // of a plug-in; our entries report by value
    return {status_code::failed, fmt::format("threw an exception: {}", thrown.what())};
  }
}

std::function<status()> trial::call() {
  return [this] {
    const std::uint64_t before = processor_ticks();
    status done = guarded_call();
    ticks_ = processor_ticks() - before;
    return done;
  };
}

timed_run trial::time(bool gapless) { return place_.time(call(), gapless); }

timed_run trial::wall_time() { return place_.wall_time(call()); }

timed_run trial::time_batch(std::span<const input_rows* const> inputs, int calls, bool gapless) {
  const auto one = call();
  timed_run batch = place_.time(
      [&] {
        for (int i = 0; i < calls; ++i) {
          use(*inputs[static_cast<std::size_t>(i) % inputs.size()]);
          if (status outcome = one(); !outcome.ok()) return outcome;
        }
        return status{};
      },
      gapless);
  batch.nanoseconds /= calls;
  return batch;
}

void trial::evict() {
  const input_rows::numbers& mask = input_->mask();
  const std::array<memory_range, 5> working_set = {
      memory_range{static_cast<const std::byte*>(buffers().input), input_->bytes()},
      memory_range{values_.data(), values_.bytes}, memory_range{indices_.data(), indices_.bytes},
      memory_range{workspace_.data(), workspace_.bytes},
      memory_range{mask.device.data(), mask.host.size()}};
  place_.evict(working_set);
}

std::optional<graph_capture> trial::capture() { return place_.capture(call()); }

bool trial::escapes_queue(double seconds) {
  constexpr std::size_t enough = 1 << 16;
  const std::array<memory_range, 2> outputs = {
      memory_range{values_.data(), std::min(values_.bytes, enough)},
      memory_range{indices_.data(), std::min(indices_.bytes, enough)}};
  return place_.escapes_queue(call(), outputs, seconds);
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

// Names a write to a guard band or to the input; empty if there is none.
std::string trial::trespasses() {
  for (const auto& [buffer, name] : {std::pair{&values_, "values"}, std::pair{&indices_, "indices"},
                                     std::pair{&workspace_, "the workspace"}}) {
    if (std::string what = damaged(*buffer, name); !what.empty()) return what;
  }
  return input_->unchanged() ? std::string() : "changed its input";
}

void trial::copy_answer() {
  values_host_.resize(problem_.values_bytes());
  indices_host_.resize(problem_.indices_bytes());
  place_.to_host(values_host_, values_.data());
  place_.to_host(indices_host_, indices_.data());
}

std::string trial::refute_copy() {
  const io answer{.input = input_->host().data(),
                  .values = problem_.has_values() ? values_host_.data() : nullptr,
                  .indices = problem_.has_indices() ? indices_host_.data() : nullptr,
                  .lengths = input_->lengths().host.data(),
                  .starts = input_->starts().host.data(),
                  .k_each = input_->k_each().host.data(),
                  .map = input_->map().host.data(),
                  .mask = input_->mask().host.data()};
  const verdict proof = verify(problem_, entry_.promises, answer, place_.description().threads);
  if (proof) return {};
  return fmt::format("{} of {} wrong; {}", proof.rows_wrong,
                     runtime::amount_of(proof.rows_checked, "row"), proof.first->detail);
}

void trial::read_row(std::int64_t row, std::vector<std::byte>& values,
                     std::vector<std::byte>& indices) {
  problem alone = problem_;
  alone.q = 1;
  values.resize(alone.values_bytes());
  indices.resize(alone.indices_bytes());
  place_.to_host(values, values_.data() + static_cast<std::size_t>(row) * values.size());
  place_.to_host(indices, indices_.data() + static_cast<std::size_t>(row) * indices.size());
}

// Proves one row of an answer with indices on the host. Empty if the proof holds.
std::string trial::refute_row(std::int64_t row) {
  problem alone = problem_;
  alone.q = 1;
  alone.pitch = problem_.effective_pitch();
  read_row(row, values_host_, indices_host_);
  const auto first = static_cast<std::size_t>(problem_.offset(row, 0)) * size_of(problem_.type);
  const io answer{.input = input_->host().data() + first,
                  .values = values_host_.data(),
                  .indices = indices_host_.data()};
  const verdict proof = verify(alone, entry_.promises, answer, 1);
  return proof ? std::string() : proof.first->detail;
}

// The answer is copied first: what is written after that came too late.
std::string trial::disprove_copy() {
  proven_in_place_ = false;
  copy_answer();
  if (std::string what = trespasses(); !what.empty()) return what;
  return refute_copy();
}

std::string trial::disprove() {
  if (!place_.proves_in_place()) return disprove_copy();
  proven_in_place_ = false;
  if (std::string what = trespasses(); !what.empty()) return what;
  const auto found = verify_on_device(
      problem_, entry_.promises,
      {.input = input_->device(), .values = values_.data(), .indices = indices_.data()}, place_);
  if (!found) {
    copy_answer();
    return refute_copy();
  }
  if (!*found) {
    copy_answer();
    std::string what = refute_copy();
    if (what.empty()) {
      disagree(fmt::format("{} of {} wrong by the former, the first of them row {}",
                           found->rows_wrong, runtime::amount_of(found->rows_checked, "row"),
                           found->first_row));
    }
    return what;
  }
  if (problem_.q > 0 && problem_.n <= longest_second_proof) {
    const std::int64_t row = some_row(problem_.q);
    const std::string what = refute_row(row);
    if (!what.empty()) disagree(fmt::format("by the latter row {}, alone, fails: {}", row, what));
  }
  proven_in_place_ = true;
  return {};
}

void trial::disagree(const std::string& what) const {
  throw error(
      failure::unsupported,
      fmt::format("the certificates on {} and on the host disagree on {}: {}; either the answer "
                  "changed in between, or this is a bug of kselect; please report it",
                  place_.description().name, to_string(problem_), what));
}

}  // namespace kselect::harness
