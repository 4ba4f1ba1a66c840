#include "cli/help/man_page.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/help/catalogue.hpp"
#include "cli/help/help_text.hpp"
#include "runtime/environment/host.hpp"

namespace kselect::cli::help {
namespace {

// Text as roff reads it: no escapes, no request at the start of a line, and - as it is typed.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string capital(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return 'a' <= c && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text;
}

// The version is the second word of "kselect 0.1.0 (...)".
std::string version() {
  const std::string line = version_line();
  const std::size_t from = line.find(' ') + 1;
  return line.substr(from, line.find_first_of(" \n,", from) - from);
}

std::string option_sections(const command_facts& command) {
  std::string out = command.options.empty() ? "" : ".SH OPTIONS\n";
  for (const std::string& group : groups_of(command)) {
    out += fmt::format(".SS {}\n", plain(group));
    for (const option_facts& o : command.options) {
      if (o.group != group) continue;
      const std::string more = conditions(o);
      out += fmt::format(".TP\n\\fB{}\\fR\n{}{}\n", plain(spelling(o)), plain(o.text),
                         more.empty() ? "" : plain(fmt::format(" ({})", more)));
    }
  }
  return out;
}

std::string command_section(const command_facts& command) {
  std::string out = command.commands.empty() ? "" : ".SH COMMANDS\n";
  for (const command_facts& c : command.commands) {
    out += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", plain(c.page()), plain(c.text));
  }
  return out;
}

std::string example_section(const command_facts& command) {
  std::string out;
  for (const example& e : examples()) {
    if (e.command != command.name()) continue;
    // mandoc warns of a paragraph macro that follows a heading or another one.
    out += out.empty() ? ".SH EXAMPLES\n" : ".PP\n";
    if (!e.purpose.empty()) out += fmt::format("{}\n", plain(e.purpose));
    out += fmt::format(".RS\n.nf\n{}\n.fi\n.RE\n", plain(e.line));
  }
  return out;
}

std::string code_section(const command_facts& command) {
  std::string out = ".SH EXIT STATUS\n";
  for (const exit_code& c : ends_with_verdict(command.name()) ? verdict_codes() : exit_codes()) {
    out += fmt::format(".TP\n{}\n{}\n", c.code, plain(c.meaning));
  }
  return out;
}

std::string see_also(const command_facts& command, const command_facts& program) {
  std::string out;
  for (const command_facts* const c : all_commands(program)) {
    const bool near = c->path.empty() || (command.path.size() == 2 && c->path.size() == 1 &&
                                          c->path.front() == command.path.front());
    if (!near || c->path == command.path) continue;
    out += fmt::format("{}.BR {} (1)", out.empty() ? ".SH SEE ALSO\n" : " ,\n", plain(c->page()));
  }
  return out.empty() ? out : out + '\n';
}

}  // namespace

std::string man_page(const command_facts& command, const command_facts& program) {
  const std::string name = command.full_name();
  const std::string usage = usage_line(command).substr(name.size());
  return fmt::format(".TH {} 1 \"\" \"kselect {}\" \"User Commands\"\n",
                     plain(capital(command.page())), plain(version())) +
         fmt::format(".SH NAME\n{} \\- {}\n", plain(command.page()), plain(command.text)) +
         fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", plain(name), plain(usage)) +
         command_section(command) + option_sections(command) + example_section(command) +
         code_section(command) + see_also(command, program);
}

}  // namespace kselect::cli::help
