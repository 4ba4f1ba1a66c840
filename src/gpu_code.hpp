#pragma once
// Whether a program has code for a GPU, from what it was built for: no context is made to find out.

#include <string>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect {

struct code_question {
  std::string_view architectures;  // CMAKE_CUDA_ARCHITECTURES, with ',' or ';': "80-real,90-real,120"
  std::string_view gpu;            // its name
  int compute_capability = 0;      // 90 for 9.0
  int toolkit = 0;                 // the CUDA that compiled the program: 13000 for 13.0
  int driver = 0;                  // the newest CUDA that the driver serves
};

// One line that says what is there and what to build; empty if the GPU can run the program, or if
// the architectures are not a list of numbers ("native", "all"), of which only loading can tell.
std::string why_no_code(const code_question& asked);

// What the program has code for, in words: "8.0, 9.0, 12.0 and newer".
std::string code_in_words(std::string_view architectures);

// CMAKE_CUDA_ARCHITECTURES of this build, with commas; empty without CUDA.
std::string_view built_architectures();

#if KSELECT_HAS_CUDA
// The question about this build and this machine's driver.
code_question code_here(const device& gpu);
#endif

}  // namespace kselect
