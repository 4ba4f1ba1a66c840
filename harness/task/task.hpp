#pragma once
// What the cells of a sweep measure: a task. Selection is the harness' own. The program adds
// others, such as searches, by add_task(); the harness knows them by this interface alone.
//
// A task has axes of its own beside n, Q, k and the distribution. A value of such an axis is a
// setting. An axis of the problem says what is to be computed (a metric, a dimension): its values
// make different groups. An axis of the entries says how (the type of a product, the size of
// clusters): cells that differ by it alone take turns in one group.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/harness.hpp"
#include "kselect/registry.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

struct cell;
struct cell_prospect;
struct input_choice;
struct sweep_config;
class sweep_input;
class group_subjects;

using setting_value = std::variant<std::int64_t, double, std::string>;

struct setting {
  std::string_view axis;  // task_axis::name
  setting_value value;
  bool operator==(const setting&) const = default;
};
using settings = std::vector<setting>;

std::string to_string(const setting_value& value);
// "dimension=128"
std::string to_string(const setting& s);
nlohmann::ordered_json to_json(const setting_value& value);
// The value of an axis; null if it is not set.
const setting_value* find_setting(const settings& all, std::string_view axis);

enum class axis_scope : std::uint8_t { problem, entry };

struct task_axis {
  std::string_view name;
  axis_scope scope = axis_scope::problem;
  setting_value preset;                         // its type is that of all values
  double low = 0, high = 0;                     // bounds of numbers
  std::vector<std::string_view> choices = {};   // the values of text
  bool required = false;                        // a config must give it; the preset has no meaning
  std::span<const std::string_view> entries{};  // globs: the entries that it matters to; none: all
};

// An axis with the values that a config gives it.
struct axis_values {
  std::string_view axis;
  std::vector<setting_value> values;
  bool operator==(const axis_values&) const = default;
};

class task {
 public:
  virtual ~task() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view about() const = 0;  // what a cell measures, in a few words
  virtual std::span<const task_axis> axes() const = 0;
  // What competes; of each, only the names, the origin and the executors are read here.
  virtual std::span<const registered> entries() const = 0;
  // Throws error(failure::usage), which names file and key, for a config that cannot be.
  virtual void check(const sweep_config&) const {}
  // Hash of the sources that a cell's answer and time depend on, beside its entry's.
  virtual std::string source_hash(const cell& c) const = 0;
  // How many passes over n x Q elements take about as long as one run: 1 to 2^20. For estimates.
  virtual std::int64_t passes(const cell& c) const = 0;
  // Throws whatever the readers of files throw.
  virtual std::unique_ptr<sweep_input> open(const input_choice& choice) const = 0;
  // Whether the cell can run at `where`, whose host has `free_bytes`.
  virtual cell_prospect foresee(const cell& c, const sweep_input& input, const device& where,
                                std::size_t free_bytes) const = 0;
  // Makes, runs and proves the cells of groups on one backend. `input` is what open() returned.
  virtual std::unique_ptr<group_subjects> subjects(const sweep_input& input,
                                                   backend& place) const = 0;
};

inline constexpr std::string_view selection_name = "select";

// Makes a task known under its name, once. It must outlive the program's last sweep.
void add_task(const task& added);
// A task that was added; null for an unknown name and for selection.
const task* find_added_task(std::string_view name);
// Selection first, then those added.
std::vector<std::string_view> task_names();
// Whether an axis of `of` matters to an entry.
bool matters(const task_axis& axis, std::string_view entry);

}  // namespace kselect::harness
