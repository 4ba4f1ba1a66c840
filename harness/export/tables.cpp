// CSV for spreadsheets and data frames, Markdown for people.

#include <algorithm>

#include <fmt/format.h>

#include "harness/export/exports.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::harness {
namespace {

using compare::recorded_cell;
using compare::recorded_run;

// A field by RFC 4180: quoted if necessary, quotes doubled. On one line: control characters are
// escaped, which a terminal would obey.
std::string csv_field(const std::string& raw) {
  const std::string text = one_line(raw);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

bool has_settings(const recorded_run& run) {
  return std::ranges::any_of(run.cells,
                             [](const recorded_cell& c) { return !c.problem.settings.empty(); });
}

// The settings of a task are a last column, which runs of selections do not have.
std::string csv_line(const recorded_cell& cell, bool with_settings) {
  const workload& p = cell.problem;
  const std::string last =
      with_settings ? ',' + csv_field(cell.problem.settings) + '\n' : std::string("\n");
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(cell.algorithm),
                  csv_field(cell.executor), cell.threads, p.n, p.q, p.k, to_string(p.type),
                  to_string(p.index), to_string(p.direction), to_string(p.payload),
                  to_string(p.layout), p.pitch, csv_field(to_string(p.distribution)), p.seed,
                  to_string(cell.status), csv_field(cell.reason), cell.throttled ? 1 : 0);
  if (!cell.time) return line + ",,,,," + last;
  return line +
         fmt::format(",{},{},{},{},{}", csv_field(cell.time->clock), cell.time->median,
                     cell.time->low, cell.time->high, cell.time->rounds.size()) +
         last;
}

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

std::string column_of(const recorded_cell& cell) {
  return fmt::format("{} ({})", cell.algorithm, cell.executor);
}

// On one line, without the characters that would end a table's field or begin markup.
std::string markdown_field(const std::string& text) {
  std::string field;
  for (const char c : one_line(text)) {
    if (c == '|' || c == '<' || c == '`') field += '\\';
    field += c;
  }
  return field;
}

}  // namespace

std::string csv_export(const recorded_run& run) {
  std::string text =
      "algorithm,executor,threads,n,q,k,dtype,index,direction,payload,layout,pitch,distribution,"
      "seed,"
      "status,reason,throttled,clock,median_ns,ci95_low_ns,ci95_high_ns,rounds";
  const bool with_settings = has_settings(run);
  text += with_settings ? ",settings\n" : "\n";
  for (const recorded_cell& cell : run.cells) text += csv_line(cell, with_settings);
  return text;
}

std::string markdown_export(const recorded_run& run) {
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, const recorded_cell*> cells;
  for (const recorded_cell& cell : run.cells) {
    add_once(rows, to_string(cell.problem));
    add_once(columns, column_of(cell));
    cells[{to_string(cell.problem), column_of(cell)}] = &cell;
  }
  std::string text = "| problem |";
  std::string rule = "|---|";
  for (const std::string& column : columns) {
    text += fmt::format(" {} |", markdown_field(column));
    rule += "--:|";
  }
  text += "\n" + rule + "\n";
  std::string untimed;
  for (const std::string& row : rows) {
    text += fmt::format("| {} |", markdown_field(row));
    for (const std::string& column : columns) {
      const auto found = cells.find({row, column});
      if (found == cells.end()) {
        text += " |";
        continue;
      }
      const recorded_cell& cell = *found->second;
      text += cell.time ? fmt::format(" {} |", format_time(cell.time->median))
                        : fmt::format(" {} |", to_string(cell.status));
      if (!cell.reason.empty()) {
        untimed += fmt::format("- {} {}: {}: {}\n", markdown_field(column), markdown_field(row),
                               to_string(cell.status), markdown_field(cell.reason));
      }
    }
    text += "\n";
  }
  return untimed.empty() ? text : text + "\n" + untimed;
}

}  // namespace kselect::harness
