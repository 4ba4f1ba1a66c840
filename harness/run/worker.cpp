#include "harness/run/worker.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <new>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/config/lengths_file.hpp"
#include "harness/record/ceilings.hpp"
#include "harness/record/records.hpp"
#include "harness/run/group.hpp"
#include "harness/run/lines.hpp"
#include "harness/run/messages.hpp"
#include "harness/run/progress_page.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"
#include "runtime/plugins/plugins.hpp"

namespace kselect::harness {
namespace {

using json = nlohmann::ordered_json;

// Writes the running cell to the progress page and sends finished cells to the parent.
class reporting final : public group_observer {
 public:
  reporting(line_socket& parent, progress_page& page, const sweep_input& input,
            std::span<const cell* const> cells, const backend& place)
      : parent_(parent), page_(page), input_(input), cells_(cells), place_(place) {}

  void running(const cell& c) override {
    const auto at = std::ranges::find(cells_, &c);
    page_.running(static_cast<std::int32_t>(at - cells_.begin()));
  }
  // What an algorithm wrote to the socket is received while the page still names its cell.
  void resting() override {
    parent_.wait_until_received();
    page_.resting();
  }
  void finished(const cell& c, const cell_outcome& outcome) override {
    parent_.write(cell_record(
        c, outcome, {input_.description(), place_.description().threads, place_.confined()}));
  }
  bool go_on_after_damage() override { return false; }

 private:
  line_socket& parent_;
  progress_page& page_;
  const sweep_input& input_;
  std::span<const cell* const> cells_;
  const backend& place_;
};

class worker {
 public:
  worker(line_socket& parent, const worker_setup& setup)
      : parent_(parent),
        page_(worker_page),
        setup_(setup),
        input_(open_sweep_input(setup.input)),
        places_(setup.policy) {
    for (const plugin_choice& each : setup.plugins) load_plugin(each.file, each.hash);
    if (to_text(input_->description()) == setup.description) return;
    throw error(failure::input,
                fmt::format("the dataset changed since the sweep began: it was {}, now it is {}",
                            setup.description, to_text(input_->description())));
  }

  // Returns whether this process can be trusted with another group.
  bool run(const std::string& line) {
    std::vector<cell> owned = group_from(line);
    for (cell& c : owned) read_lengths_again(c.problem.row_lengths);
    std::vector<const cell*> cells;
    for (const cell& c : owned) cells.push_back(&c);
    const executor_kind kind = cells.front()->executor;
    backend& place = places_.open(kind);
    auto& subjects = subjects_[kind];
    if (!subjects) subjects = task_of(setup_.input.task).subjects(*input_, place);
    reporting observer(parent_, page_, *input_, cells, place);
    const group_request group{cells, setup_.policy, ceilings_of(kind, place)};
    return run_group(group, *subjects, place, observer);
  }

 private:
  // The ceilings that an earlier worker of this sweep measured, or new ones.
  const memory_ceilings& ceilings_of(executor_kind kind, backend& place) {
    const auto known = setup_.ceilings.find(kind);
    if (known != setup_.ceilings.end()) return known->second;
    memory_ceilings& fresh = setup_.ceilings[kind];
    const bool timed = kind != executor_kind::fiber && setup_.policy.rounds > 0;
    if (!timed) return fresh;
    fresh = place.measure_ceilings();
    json event = {{"event", "ceilings"}, {"executor", to_string(kind)}};
    event.update(to_json(fresh));
    parent_.write(event.dump());
    return fresh;
  }

  line_socket& parent_;
  progress_page page_;
  worker_setup setup_;
  std::unique_ptr<sweep_input> input_;
  backends places_;
  std::map<executor_kind, std::unique_ptr<group_subjects>> subjects_;
};

std::optional<std::string> read_line(line_socket& parent) {
  for (;;) {
    if (auto line = parent.next()) return line;
    if (!parent.receive()) return std::nullopt;
  }
}

void serve(line_socket& parent) {
  const auto first = read_line(parent);
  if (!first) return;
  worker self(parent, setup_from(*first));
  while (const auto line = read_line(parent)) {
    const bool fit = self.run(*line);
    parent.write(json{{"event", "done"}, {"retired", !fit}}.dump());
    if (!fit) return;
  }
}

}  // namespace

int serve_worker() {
  // If the parent is killed, this process is killed, too. If the parent died before this call, its
  // end of the socket is closed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parents_end{worker_socket, POLLRDHUP, 0};
  if (poll(&parents_end, 1, 0) > 0 && parents_end.revents != 0) return 1;
  line_socket parent(worker_socket);
  const auto failed = [&](failure category, const std::string& message) {
    parent.write(
        json{{"event", "failed"}, {"category", static_cast<int>(category)}, {"message", message}}
            .dump(-1, ' ', false, json::error_handler_t::replace));
  };
  try {
    serve(parent);
  } catch (const error& problem) {
    failed(problem.category(), problem.what());
  } catch (const std::bad_alloc&) {
    failed(failure::resources, "out of memory in a worker process");
  }
  return 0;
}

}  // namespace kselect::harness
