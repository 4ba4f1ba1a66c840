#include "python/program/outside.hpp"

int main(int argc, char** argv) { return kselect::outside::program(argc, argv); }
