#include "harness/plan/parts.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/plan/title_filter.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
namespace {

// The cells of several parts, those of the first first.
class parts_plan final : public cell_source {
 public:
  parts_plan(const plan_request& request, backends& places) {
    for (const sweep_config& config : request.config.parts) {
      const auto number = static_cast<std::int32_t>(parts_.size());
      parts_.push_back(plan_of_part(
          {config, input_of_part(request.input, number), request.executor, request.filter},
          places));
    }
  }

  std::int64_t size() const override {
    std::int64_t all = 0;
    for (const auto& part : parts_) all += part->size();
    return all;
  }
  std::vector<algorithm_count> counts() const override {
    std::vector<algorithm_count> all;
    for (const auto& part : parts_) {
      for (const algorithm_count& each : part->counts()) {
        const auto same = std::ranges::find_if(all, [&](const algorithm_count& c) {
          return c.algorithm == each.algorithm && c.executor == each.executor;
        });
        if (same == all.end()) {
          all.push_back(each);
        } else {
          same->cells += each.cells;
        }
      }
    }
    return all;
  }
  std::vector<left_out> omitted() const override {
    std::vector<left_out> all;
    for (const auto& part : parts_) {
      for (const left_out& each : part->omitted()) {
        auto same = std::ranges::find(all, each.reason, &left_out::reason);
        if (same == all.end()) same = all.insert(all.end(), {each.reason, {}});
        for (const std::string_view name : each.algorithms) {
          if (std::ranges::find(same->algorithms, name) == same->algorithms.end()) {
            same->algorithms.push_back(name);
          }
        }
      }
    }
    return all;
  }
  std::string identity() const override {
    std::string all;
    for (const auto& part : parts_) all += part->identity() + '\n';
    return all;
  }
  std::unique_ptr<cursor> begin() const override { return std::make_unique<walk>(*this); }
  void complete(cell& c) const override { parts_[static_cast<std::size_t>(c.part)]->complete(c); }

 private:
  class walk final : public cursor {
   public:
    explicit walk(const parts_plan& plan) : plan_(plan) {}

    bool next(cell& c) override {
      for (; part_ < plan_.parts_.size(); ++part_, within_.reset()) {
        if (!within_) within_ = plan_.parts_[part_]->begin();
        if (!within_->next(c)) continue;
        c.number = number_++;
        c.part = static_cast<std::int32_t>(part_);
        return true;
      }
      return false;
    }

   private:
    const parts_plan& plan_;
    std::size_t part_ = 0;
    std::unique_ptr<cursor> within_;
    std::int64_t number_ = 0;
  };

  std::vector<std::unique_ptr<cell_source>> parts_;
};

std::unique_ptr<cell_source> plan_of(const plan_request& request, backends& places) {
  if (request.config.parts.empty()) return plan_of_part(request, places);
  return std::make_unique<parts_plan>(request, places);
}

}  // namespace

parts_input::parts_input(const std::vector<input_choice>& choices) {
  for (const input_choice& choice : choices) inputs_.push_back(open_sweep_input(choice));
}

nlohmann::ordered_json parts_input::description() const {
  auto parts = nlohmann::ordered_json::array();
  for (const auto& input : inputs_) parts.push_back(input->description());
  return {{"kind", "parts"}, {"parts", std::move(parts)}};
}

const sweep_input& input_of_part(const sweep_input& whole, std::int32_t number) {
  const auto* const parts = dynamic_cast<const parts_input*>(&whole);
  return parts == nullptr ? whole : parts->part(number);
}

const sweep_config& config_of_part(const sweep_config& whole, std::int32_t number) {
  return whole.parts.empty() ? whole : whole.parts[static_cast<std::size_t>(number)];
}

const input_choice& choice_of_part(const input_choice& whole, std::int32_t number) {
  return whole.parts.empty() ? whole : whole.parts[static_cast<std::size_t>(number)];
}

std::unique_ptr<cell_source> make_plan(const plan_request& request, backends& places) {
  auto plan = plan_of(request, places);
  if (plan->size() != 0) return plan;
  std::string excluded;
  if (request.filter) {
    const auto unfiltered = plan_of({request.config, request.input, request.executor, {}}, places);
    if (unfiltered->size() != 0) excluded = excludes_first(*unfiltered);
  }
  throw error(failure::usage, fmt::format("{}: no cell is left{}{}", request.config.file_name,
                                          excluded, omitted_text(plan->omitted(), "; ")));
}

std::vector<cell> plan_cells(const plan_request& request, backends& places) {
  const auto plan = make_plan(request, places);
  if (plan->size() > most_listed) {
    throw error(failure::usage,
                fmt::format("{}: {} cells are more than {}, which can be listed: name fewer "
                            "algorithms or executors, or shorten the axes",
                            request.config.file_name, plan->size(), most_listed));
  }
  std::vector<cell> cells;
  const auto cursor = plan->begin();
  for (cell c; cursor->next(c);) {
    plan->complete(c);
    cells.push_back(c);
  }
  return cells;
}

std::string omitted_text(const std::vector<left_out>& omitted, std::string_view before) {
  if (omitted.empty()) return {};
  std::vector<std::string> parts;
  for (const left_out& each : omitted) {
    parts.push_back(
        fmt::format("{} {}", runtime::amount_of(each.algorithms.size(), "algorithm"), each.reason));
  }
  return fmt::format("{}left out: {}", before, fmt::join(parts, "; "));
}

}  // namespace kselect::harness
