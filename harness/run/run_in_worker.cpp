#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/record/records.hpp"
#include "harness/run/group_runner.hpp"
#include "harness/run/messages.hpp"
#include "harness/run/worker_process.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"
#include "runtime/plugins/plugins.hpp"

namespace kselect::harness {
namespace {

class worker_runner final : public group_runner {
 public:
  worker_runner(const sweep_request& request, const sweep_input& input, backends& places)
      : request_(request), input_(input), places_(places) {}

  // A cell that kills its worker has ended; the other cells go to a new worker. So every pass with
  // a new worker ends at least one cell. A worker that served before may retire at once, if it
  // finds its GPU's context lost.
  void run(std::span<const cell* const> group, const sink& done) override {
    std::vector<const cell*> open(group.begin(), group.end());
    while (!open.empty()) {
      const std::size_t before = open.size();
      const bool is_new = !worker_.has_value();
      pass(open, done);
      if (open.size() == before && is_new) {
        throw error(failure::output, "internal error: a worker process ended no cell of its group");
      }
    }
  }

 private:
  void pass(std::vector<const cell*>& open, const sink& done) {
    const std::vector<const cell*> sent = open;  // the progress page numbers cells in this order
    hand_over(sent);
    for (;;) {
      try {
        if (!follow(open, sent, done)) return;
      } catch (const damaged& message) {
        blame(open, sent, worker_->sender(), {cell_status::error, message.why}, done);
        return;
      }
    }
  }

  // A worker whose memory an algorithm damaged may say anything.
  struct damaged {
    std::string why;
  };

  // Waits for the worker's next message and obeys it. False at the end of the pass.
  bool follow(std::vector<const cell*>& open, const std::vector<const cell*>& sent,
              const sink& done) {
    std::string line;
    switch (next(line)) {
      case worker_process::news::hung:
        blame(open, sent, worker_->state().cell, {cell_status::timeout, why_hung()}, done);
        return false;
      case worker_process::news::ended:
        blame(open, sent, worker_->state().cell,
              {cell_status::error, fmt::format("its process was {}", worker_->cause())}, done);
        return false;
      case worker_process::news::line:
        break;
    }
    return obey(understood(line, open), line, open, done);
  }

  worker_process::news next(std::string& line) {
    try {
      return worker_->next(line, request_.config.measure.timeout_s);
    } catch (const error& too_long) {
      throw damaged{too_long.what()};
    }
  }

  static worker_message understood(const std::string& line, const std::vector<const cell*>& open) {
    worker_message message{};
    try {
      message = message_from(line);
    } catch (const error& senseless) {
      throw damaged{fmt::format("its process sent what makes no sense: {}", senseless.what())};
    }
    if (message.what == worker_message::kind::record &&
        std::ranges::find(open, message.key, &cell::key) == open.end()) {
      throw damaged{"its process sent the record of a cell that it was not given"};
    }
    if (message.what == worker_message::kind::done && !open.empty() && !message.retired) {
      throw damaged{"its process ended the group before its last cell"};
    }
    return message;
  }

  std::string why_hung() const {
    const double limit = request_.config.measure.timeout_s;
    if (worker_->state().cell >= 0) {
      return fmt::format("one run took longer than {} s (measure.timeout_s)", limit);
    }
    return fmt::format("its process was stopped or hung: no sign of life for {} s",
                       std::max(limit, quiet_limit_s));
  }

  static std::vector<plugin_choice> chosen_plugins() {
    std::vector<plugin_choice> all;
    for (const loaded_plugin* each : loaded_plugins()) all.push_back({each->file, each->hash});
    return all;
  }

  void hand_over(const std::vector<const cell*>& cells) {
    if (!worker_) {
      worker_.emplace();
      worker_->send(setup_line({request_.input, request_.config.measure, ceilings_,
                                to_text(input_.description()), chosen_plugins()}));
    }
    worker_->send(group_line(cells));
  }

  // False at the end of the pass.
  bool obey(const worker_message& message, const std::string& line, std::vector<const cell*>& open,
            const sink& done) {
    switch (message.what) {
      case worker_message::kind::record: {
        const auto at = std::ranges::find(open, message.key, &cell::key);
        const cell& ended = **at;
        open.erase(at);
        done(ended, line);
        return true;
      }
      case worker_message::kind::ceilings:
        ceilings_[message.executor] = message.ceilings;
        return true;
      case worker_message::kind::failed:
        throw error(message.category, message.message);
      case worker_message::kind::done:
        break;
    }
    if (message.retired) worker_.reset();
    return false;
  }

  struct ending {
    cell_status status;
    std::string reason;
  };

  // Ends the cell with this number among those sent, or all open cells if it is none of them (-1).
  // The worker is given up.
  void blame(std::vector<const cell*>& open, const std::vector<const cell*>& sent,
             std::int32_t cell_number, const ending& how, const sink& done) {
    worker_.reset();
    cell_outcome outcome;
    outcome.status = how.status;
    outcome.reason = how.reason;
    outcome.started = std::chrono::system_clock::now();
    const auto number = static_cast<std::size_t>(cell_number);
    const bool known = cell_number >= 0 && number < sent.size() &&
                       std::ranges::find(open, sent[number]) != open.end();
    const cell* const culprit = known ? sent[number] : nullptr;
    if (culprit == nullptr) outcome.reason += ", outside any run of an algorithm";
    const std::vector<const cell*> blamed =
        culprit == nullptr ? open : std::vector<const cell*>{culprit};
    for (const cell* c : blamed) {
      std::erase(open, c);
      const backend& place = places_.open(c->executor);
      done(*c, cell_record(*c, outcome,
                           {input_.description(), place.description().threads, place.confined()}));
    }
  }

  const sweep_request& request_;
  const sweep_input& input_;
  backends& places_;
  std::optional<worker_process> worker_;
};

}  // namespace

std::unique_ptr<group_runner> run_in_worker(const sweep_request& request, const sweep_input& input,
                                            backends& places) {
  return std::make_unique<worker_runner>(request, input, places);
}

}  // namespace kselect::harness
