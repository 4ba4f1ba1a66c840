// libFuzzer targets of one source: files of vectors. KSELECT_FUZZ_NAME is the file's name, whose
// extension chooses the reader. Read in memory and in pieces, a file has the same vectors. An .npy
// is also read as masks.

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/io/bit_masks.hpp"
#include "runtime/io/readers.hpp"
#include "runtime/io/vector_file.hpp"
#include "tests/fuzz/fuzzed.hpp"

using namespace kselect;
using namespace kselect::fuzz;

namespace {

bool equal(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

// libhdf5 itself leaks where it refuses a damaged file. Leaks of our readers are still found.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = file_with(KSELECT_FUZZ_NAME, text_of(data, size));
  runtime::vector_set whole;
  const bool accepted = ends_documented([&] { whole = runtime::load_vectors(path); });
  ends_documented([&] { runtime::load_vectors(path, {.limit = 2, .allow_non_finite = true}); });
  if (accepted) {
    require(std::ssize(whole.data) == whole.count * whole.dimension, "a wrong shape", "");
    require(whole.data.size() <= 1033 * size, "more components than the file can hold", "");
  }
  // The same file as a mask, as masks of three rows, and as what it says it is.
  if (path.extension() == ".npy") {
    runtime::masked_rows over;
    over.n = 9;
    over.rows = 3;
    for (const bool shared : {false, true}) {
      over.shared = shared;
      for (const bool each : {false, true}) {
        over.each = each;
        if (shared || each) ends_documented([&] { runtime::load_bit_masks(path, over); });
      }
    }
  }
  std::vector<float> pieces;
  const bool in_pieces = ends_documented([&] {
    const auto file = runtime::vector_file::open(path);
    if (file.count() > (std::int64_t{1} << 20) || file.dimension() > (1 << 20)) return;
    std::vector<float> row(static_cast<std::size_t>(file.dimension()));
    for (std::int64_t i = 0; i < file.count(); ++i) {
      file.read(i, 1, row.data());
      pieces.insert(pieces.end(), row.begin(), row.end());
    }
  });
  if (accepted && in_pieces && !pieces.empty()) {
    require(std::ranges::equal(whole.data, pieces, equal), "pieces differ from the whole", "");
  }
  return 0;
}
