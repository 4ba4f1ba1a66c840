#include "src/gpu_code.hpp"

#include <charconv>
#include <optional>
#include <vector>

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kselect {
namespace {

// One entry of CMAKE_CUDA_ARCHITECTURES: "90", "89-real", "75-virtual", "90a-real", "120f".
struct architecture {
  int number = 0;
  bool exact = false;   // "90a": runs on that GPU alone
  bool family = false;  // "100f": runs on GPUs of its major version
  bool real = true;     // contains machine code
  bool ptx = true;      // contains PTX, which the driver compiles for newer GPUs
};

std::optional<architecture> parse_one(std::string_view text) {
  architecture a;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), a.number);
  if (wrong != std::errc{}) return {};
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  a.exact = rest.starts_with('a');
  a.family = rest.starts_with('f');
  if (a.exact || a.family) rest.remove_prefix(1);
  a.ptx = rest != "-real";
  a.real = rest != "-virtual";
  if (a.ptx && a.real && !rest.empty()) return {};
  return a;
}

// Empty if an entry is not a number.
std::vector<architecture> parse(std::string_view list) {
  std::vector<architecture> all;
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(",;");
    const auto one = parse_one(list.substr(0, end));
    if (!one) return {};
    all.push_back(*one);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return all;
}

// Machine code runs on GPUs of its major version whose minor version is at least its own.
bool machine_code_serves(const architecture& a, int gpu) {
  if (!a.real) return false;
  return a.exact ? gpu == a.number : gpu / 10 == a.number / 10 && gpu >= a.number;
}

bool ptx_serves(const architecture& a, int gpu) {
  if (!a.ptx) return false;
  if (a.exact) return gpu == a.number;
  return gpu >= a.number && (!a.family || gpu / 10 == a.number / 10);
}

std::string version(int number) {
  return std::to_string(number / 10) + "." + std::to_string(number % 10);
}

std::string in_words(const std::vector<architecture>& all) {
  std::vector<std::string> parts;
  const architecture* open = nullptr;
  for (const architecture& a : all) {
    parts.push_back((a.real ? "" : "PTX of ") + version(a.number));
    if (a.ptx && !a.exact && !a.family) open = &a;
  }
  if (open != nullptr) parts.emplace_back("newer");
  std::string text = parts.empty() ? "nothing" : parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

}  // namespace

std::string why_no_code(const code_question& asked) {
  const std::vector<architecture> all = parse(asked.architectures);
  if (all.empty()) return {};
  bool ptx = false;
  for (const architecture& a : all) {
    if (machine_code_serves(a, asked.compute_capability)) return {};
    ptx = ptx || ptx_serves(a, asked.compute_capability);
  }
  const std::string build_again =
      "build again with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(asked.compute_capability);
  const std::string gpu =
      "the " + std::string(asked.gpu) + " (" + version(asked.compute_capability) + ")";
  if (!ptx) {
    return "this program has GPU code for " + in_words(all) + "; " + gpu +
           " cannot run it: " + build_again;
  }
  if (asked.driver >= asked.toolkit) return {};
  const auto cuda = [](int number) { return version(number / 100 + number % 100 / 10); };
  return "for " + gpu + " this program has only PTX of CUDA " + cuda(asked.toolkit) +
         ", and the driver serves up to " + cuda(asked.driver) + ": " + build_again +
         ", or install a newer driver";
}

std::string code_in_words(std::string_view architectures) {
  const std::vector<architecture> all = parse(architectures);
  return all.empty() ? std::string(architectures) : in_words(all);
}

std::string_view built_architectures() { return KSELECT_CUDA_ARCHITECTURES; }

#if KSELECT_HAS_CUDA
code_question code_here(const device& gpu) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = CUDART_VERSION;
  return {built_architectures(), gpu.name, gpu.compute_capability, CUDART_VERSION, driver};
}
#endif

}  // namespace kselect
