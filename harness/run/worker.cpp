#include "harness/run/worker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <new>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "harness/error.hpp"
#include "harness/record/records.hpp"
#include "harness/run/progress_page.hpp"
#include "harness/run/worker_setup.hpp"

namespace kselect {
namespace {

using json = nlohmann::ordered_json;

// Lines over the socket.
class line_channel {
 public:
  explicit line_channel(int socket) : socket_(socket) {}

  std::optional<std::string> read_line() {
    for (;;) {
      if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      std::array<char, 65536> part{};
      const ssize_t count = read(socket_, part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      received_.append(part.data(), static_cast<std::size_t>(count));
    }
  }

  // A parent that is gone needs no answer: reading will say so.
  void write_line(const std::string& line) {
    const std::string text = line + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      at += static_cast<std::size_t>(count);
    }
  }

 private:
  int socket_;
  std::string received_;
};

// Tells the page which cell of the group runs, and the parent what is finished.
class reporting final : public group_observer {
 public:
  reporting(line_channel& parent, progress_page& page, const worker_setup& setup,
            std::span<const cell* const> cells, int threads)
      : parent_(parent), page_(page), setup_(setup), cells_(cells), threads_(threads) {}

  void running(const cell& c) override {
    const auto at = std::ranges::find(cells_, &c);
    page_.running(static_cast<std::int32_t>(at - cells_.begin()));
  }
  void resting() override { page_.resting(); }
  void finished(const cell& c, const cell_outcome& outcome) override {
    parent_.write_line(cell_record(c, outcome, {setup_.input->description(), threads_}));
  }
  bool go_on_after_damage() override { return false; }

 private:
  line_channel& parent_;
  progress_page& page_;
  const worker_setup& setup_;
  std::span<const cell* const> cells_;
  int threads_;
};

class worker {
 public:
  worker(line_channel& parent, const std::string& first_line)
      : parent_(parent), page_(worker_page), setup_(first_line) {
    for (const cell& c : setup_.cells) by_key_.emplace(c.key, &c);
  }

  // Returns whether this process can be trusted with another group.
  bool run(const json& request) {
    std::vector<const cell*> cells;
    for (const std::string key : request.at("group")) cells.push_back(by_key_.at(key));
    const executor_kind kind = cells.front()->executor;
    backend& place = setup_.places->open(kind);
    auto inputs = inputs_.try_emplace(kind, *setup_.input, place).first;
    reporting observer(parent_, page_, setup_, cells, place.description().threads);
    const group_request group{cells, setup_.config.measure, ceilings_of(kind, place)};
    return run_group(group, inputs->second, place, observer);
  }

 private:
  // Those of an earlier worker of the same sweep, or measured now.
  const memory_ceilings& ceilings_of(executor_kind kind, backend& place) {
    const auto known = setup_.ceilings.find(kind);
    if (known != setup_.ceilings.end()) return known->second;
    memory_ceilings& fresh = setup_.ceilings[kind];
    if (kind == executor_kind::fiber) return fresh;  // never timed
    fresh = place.measure_ceilings();
    json event = {{"event", "ceilings"}, {"executor", to_string(kind)}};
    event.update(to_json(fresh));
    parent_.write_line(event.dump());
    return fresh;
  }

  line_channel& parent_;
  progress_page page_;
  worker_setup setup_;
  std::unordered_map<std::string, const cell*> by_key_;
  std::map<executor_kind, group_inputs> inputs_;
};

void serve(line_channel& parent) {
  const auto first = parent.read_line();
  if (!first) return;
  worker self(parent, *first);
  while (const auto line = parent.read_line()) {
    const bool fit = self.run(json::parse(*line));
    parent.write_line(json{{"event", "done"}, {"retired", !fit}}.dump());
    if (!fit) return;
  }
}

}  // namespace

nlohmann::ordered_json to_json(const memory_ceilings& ceilings) {
  return {{"read", ceilings.read}, {"copy", ceilings.copy}, {"cached_read", ceilings.cached_read}};
}

memory_ceilings ceilings_from(const nlohmann::ordered_json& object) {
  return {object.at("read"), object.at("copy"), object.at("cached_read")};
}

int serve_worker() {
  // A parent that is killed takes its worker along; if it was killed before this, its end of the
  // socket is closed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parents_end{worker_socket, POLLRDHUP, 0};
  if (poll(&parents_end, 1, 0) > 0 && parents_end.revents != 0) return 1;
  line_channel parent(worker_socket);
  const auto failed = [&](failure category, const std::string& message) {
    parent.write_line(
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

}  // namespace kselect
