#pragma once
// Whether a program has code for a GPU. Answered from the build's settings, without a CUDA context.

#include <string>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect {

struct code_question {
  std::string_view architectures;  // CMAKE_CUDA_ARCHITECTURES, with ',' or ';': "80-real,90-real,120"
  std::string_view gpu;            // its name
  int compute_capability = 0;      // 90 for 9.0
  int toolkit = 0;                 // CUDA version that compiled the program: 13000 for 13.0
  int driver = 0;                  // newest CUDA version that the driver supports
};

// One line that names the program's code and what to build. Empty if the GPU can run the program,
// or if the architectures are not numbers ("native", "all"): then only loading the code can tell.
std::string why_no_code(const code_question& asked);

// The program's code in words: "8.0, 9.0, 12.0 and newer".
std::string code_in_words(std::string_view architectures);

// CMAKE_CUDA_ARCHITECTURES of this build, comma-separated. Empty without CUDA.
std::string_view built_architectures();

#if KSELECT_HAS_CUDA
// The question for this build and this machine's driver.
code_question code_here(const device& gpu);
#endif

}  // namespace kselect
