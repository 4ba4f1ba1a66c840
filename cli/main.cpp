#include "cli/program.hpp"

int main(int argc, char** argv) { return kselect::cli::program(argc, argv); }
