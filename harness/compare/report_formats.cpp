// The formats of a report: plain table, Markdown for a pull request, JSON, one HTML page.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/compare/apart.hpp"
#include "harness/compare/noise.hpp"
#include "harness/compare/report.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::harness::compare {
namespace {

constexpr std::array<const char*, 8> headers = {"verdict", "change",    "interval", "base",
                                                "new",     "algorithm", "problem",  "note"};

std::array<std::string, 8> cells_of(const report_row& row) {
  // Names and notes come from records, which may hold any character.
  return {row.verdict,
          row.change,
          row.bounds,
          row.base,
          row.now,
          one_line(row.algorithm),
          one_line(row.problem),
          one_line(row.note)};
}

// Numbers are aligned right, words left.
constexpr bool is_number(std::size_t column) { return column >= 1 && column <= 4; }

std::string hidden_line(const report& r) {
  return r.hidden == 0 ? ""
                       : fmt::format("not shown: {}, the same or added (--all shows all)",
                                     runtime::amount_of(r.hidden, "cell"));
}

// Escapes the characters that would end a table cell or begin markup.
std::string escaped_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string escaped_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string mark_of(verdict v) {
  switch (v) {
    case verdict::regression:
      return "🔴";
    case verdict::improvement:
      return "🟢";
    case verdict::same:
      return "⚪";
    case verdict::added:
      return "➕";
    default:
      return "🟡";
  }
}

std::string markdown_rows(const std::vector<report_row>& rows) {
  std::string text =
      "| | verdict | change | interval | base | new | algorithm | problem | note |\n"
      "|---|---|--:|--:|--:|--:|---|---|---|\n";
  for (const report_row& row : rows) {
    text += "| " + mark_of(row.cell->verdict);
    for (const std::string& cell : cells_of(row)) text += " | " + escaped_markdown(cell);
    text += " |\n";
  }
  return text;
}

// Draws the interval of one cell as a bar, on an axis of +-20 % with the limits marked.
std::string bar(const compared_cell& cell) {
  if (!cell.log_ratio) return "";
  constexpr double width = 200;
  const auto at = [](double log_ratio) {
    constexpr double reach = 0.2;
    return width / 2 * (1 + std::clamp(log_ratio, -reach, reach) / reach);
  };
  return fmt::format(
      R"(<svg width="{0}" height="14"><rect x="{1:.1f}" y="0" width="{2:.1f}" height="14" fill="#eee"/>)"
      R"(<line x1="{3:.1f}" x2="{4:.1f}" y1="7" y2="7" stroke="#0072b2" stroke-width="2"/>)"
      R"(<circle cx="{5:.1f}" cy="7" r="3.5" fill="#0072b2"/>)"
      R"(<line x1="{6}" x2="{6}" y1="0" y2="14" stroke="#000"/></svg>)",
      width, at(-cell.limit), at(cell.limit) - at(-cell.limit), at(cell.bounds.low),
      at(cell.bounds.high), at(*cell.log_ratio), width / 2);
}

json finite(double value) { return std::isfinite(value) ? json(value) : json(); }

json run_json(const recorded_run& run) {
  return {{"path", run.path},
          {"run", run.fact({"run"})},
          {"started", run.fact({"started"})},
          {"git", run.fact({"git"})},
          {"machine", facts_of_machine(run)}};
}

json cell_json(const compared_cell& cell) {
  const auto time = [](const recorded_cell* side) {
    return side != nullptr && side->time ? json(side->time->median) : json();
  };
  json work = json::array();
  for (const work_change& change : cell.work) {
    work.push_back({{"counter", change.counter}, {"base", change.base}, {"new", change.now}});
  }
  json row = {{"verdict", to_string(cell.verdict)},
              {"reason", cell.reason},
              {"algorithm", cell.any().algorithm},
              {"executor", cell.any().executor},
              {"problem", to_string(cell.any().problem)},
              {"base_ns", time(cell.base)},
              {"new_ns", time(cell.now)},
              {"ratio", nullptr},
              {"work", std::move(work)}};
  if (cell.log_ratio) {
    row["ratio"] = std::exp(*cell.log_ratio);
    row["interval"] = {finite(std::exp(cell.bounds.low)), finite(std::exp(cell.bounds.high))};
    row["limit"] = std::exp(cell.limit);
    row["limit_from_noise_floor"] = cell.from_floor;
    row["p"] = cell.p;
    row["p_corrected"] = cell.p_corrected;
    row["rounds"] = {cell.rounds_base, cell.rounds_now};
  }
  return row;
}

}  // namespace

std::string table_report(const comparison& compared, bool all) {
  const report r = make_report(compared, all);
  std::string text = r.headline + "\n";
  for (const std::string& line : r.method) text += "  " + line + "\n";
  for (const std::string& note : r.notes) text += "  Note: " + note + "\n";
  if (!r.common.empty()) text += "  All cells: " + r.common + "\n";
  if (!r.summary.empty()) text += fmt::format("  Mean change: {}\n", fmt::join(r.summary, ", "));
  if (!r.rows.empty()) {
    std::array<std::size_t, 8> widths{};
    for (std::size_t c = 0; c < headers.size(); ++c)
      widths[c] = std::string_view(headers[c]).size();
    for (const report_row& row : r.rows) {
      const auto cells = cells_of(row);
      for (std::size_t c = 0; c < cells.size(); ++c)
        widths[c] = std::max(widths[c], cells[c].size());
    }
    const auto line = [&](const auto& cells) {
      std::string out;
      for (std::size_t c = 0; c < headers.size(); ++c) {
        out += is_number(c) ? fmt::format("{:>{}}  ", cells[c], widths[c])
                            : fmt::format("{:<{}}  ", cells[c], widths[c]);
      }
      return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
    };
    text += "\n" + line(headers);
    for (const report_row& row : r.rows) text += line(cells_of(row));
  }
  if (const std::string line = hidden_line(r); !line.empty()) text += "\n" + line + "\n";
  if (!r.decides.empty())
    text += "\nMeasured in turns, this decides: " + one_line(r.decides) + "\n";
  return text;
}

std::string markdown_report(const comparison& compared, bool all) {
  constexpr std::size_t shown = 20;  // a pull request's comment has a maximum length
  report r = make_report(compared, all);
  std::string text = fmt::format("### kselect: {}\n\n", r.headline);
  if (!r.common.empty()) text += fmt::format("All cells: {}\n\n", escaped_markdown(r.common));
  std::vector<report_row> first(
      r.rows.begin(), r.rows.begin() + static_cast<std::ptrdiff_t>(std::min(shown, r.rows.size())));
  if (!first.empty()) text += markdown_rows(first) + "\n";
  if (r.rows.size() > shown) {
    const std::vector<report_row> rest(r.rows.begin() + shown, r.rows.end());
    text += fmt::format("<details><summary>{} more</summary>\n\n{}\n</details>\n\n", rest.size(),
                        markdown_rows(rest));
  }
  if (!r.summary.empty()) {
    text += fmt::format("Mean change: {}\n\n",
                        escaped_markdown(fmt::format("{}", fmt::join(r.summary, ", "))));
  }
  for (const std::string& note : r.notes) text += "- " + escaped_markdown(note) + "\n";
  if (!r.decides.empty()) {
    text += "\nMeasured in turns, this decides:\n\n    " + one_line(r.decides) + "\n";
  }
  text += "\n<sub>";
  for (const std::string& line : r.method) text += escaped_markdown(line) + " ";
  return text + escaped_markdown(hidden_line(r)) + "</sub>\n";
}

std::string html_report(const comparison& compared) {
  const report r = make_report(compared, true);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>kselect: "
      "{0}</title>\n"
      "<style>body{{font:14px sans-serif;margin:2em}}td,th{{padding:2px 8px;text-align:left}}"
      ".number{{text-align:right}}.regression{{background:#fbe3d6}}.improvement{{background:#"
      "def2e6}}"
      ".missing,.not_comparable,.inconclusive{{background:#fdf6d8}}</style></head><body>\n"
      "<h1>{0}</h1>\n<p>Base: {1}. New: {2}. All cells: {3}.</p>\n",
      escaped_html(r.headline), escaped_html(compared.base.path), escaped_html(compared.now.path),
      escaped_html(r.common));
  text += "<ul>\n";
  for (const std::string& line : r.method) text += "<li>" + escaped_html(line) + "</li>\n";
  for (const std::string& line : r.notes) text += "<li>Note: " + escaped_html(line) + "</li>\n";
  if (!r.decides.empty()) {
    text += fmt::format("<li>Measured in turns, this decides: <code>{}</code></li>\n",
                        escaped_html(r.decides));
  }
  text += "</ul>\n<table>\n<tr><th>-20 % ... +20 %</th>";
  for (const char* header : headers) text += fmt::format("<th>{}</th>", header);
  text += "</tr>\n";
  for (const report_row& row : r.rows) {
    text +=
        fmt::format("<tr class=\"{}\"><td>{}</td>", to_string(row.cell->verdict), bar(*row.cell));
    const auto cells = cells_of(row);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text += fmt::format("<td{}>{}</td>", is_number(c) ? " class=\"number\"" : "",
                          escaped_html(cells[c]));
    }
    text += "</tr>\n";
  }
  return text + "</table>\n</body></html>\n";
}

std::string json_report(const comparison& compared) {
  json counts = json::object();
  for (const auto& v : names<verdict>) counts[std::string(v.name)] = compared.count(v.value);
  json cells = json::array();
  for (const compared_cell& cell : compared.cells) cells.push_back(cell_json(cell));
  const criteria& how = compared.how;
  const json whole = {{"schema", "kselect-comparison/1"},
                      {"base", run_json(compared.base)},
                      {"new", run_json(compared.now)},
                      {"matched_by", {"problem", "input", "algorithm", "executor"}},
                      {"paired", compared.paired},
                      {"threshold", how.threshold},
                      {"confidence", how.confidence},
                      {"correction", to_string(how.corrected)},
                      {"noise_floor", how.floor == nullptr ? json() : json(how.floor->path)},
                      {"obstacles", compared.obstacles},
                      {"forced", how.force},
                      {"strict", how.strict},
                      {"decides", compared.needs_turns() ? json(ab_command(compared)) : json()},
                      {"notes", compared.notes},
                      {"verdicts", std::move(counts)},
                      {"mean_ratio", compared.mean_ratio_by_algorithm()},
                      {"cells", std::move(cells)}};
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace kselect::harness::compare
