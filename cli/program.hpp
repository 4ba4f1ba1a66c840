#pragma once
// The whole program: parses the command line, runs the command, turns errors into exit codes.

namespace kselect::cli {

int program(int argc, char** argv);

}  // namespace kselect::cli
