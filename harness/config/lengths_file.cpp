#include "harness/config/lengths_file.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/content_hashes.hpp"
#include "runtime/io/npy.hpp"

namespace kselect::harness {
namespace {

using namespace runtime;

template <class Number>
std::vector<std::int32_t> narrowed(const npy_file& file, const std::string& path) {
  const auto* const numbers = reinterpret_cast<const Number*>(file.data());
  std::vector<std::int32_t> all(static_cast<std::size_t>(file.shape().front()));
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (numbers[r] < 0 || numbers[r] > std::numeric_limits<std::int32_t>::max()) {
      throw error(failure::input, fmt::format("{}: number {} is {}, but a length is 0 to 2^31 - 1",
                                              path, r, numbers[r]));
    }
    all[r] = static_cast<std::int32_t>(numbers[r]);
  }
  return all;
}

length_file read(const std::string& written, const std::string& path) {
  const npy_file file = npy_file::open(path);
  if (file.type() != element_type::int32 && file.type() != element_type::int64) {
    throw error(failure::input,
                fmt::format("{}: holds {}, but lengths are int32 or int64; convert it with numpy's "
                            ".astype(numpy.int32)",
                            path, to_string(file.type())));
  }
  if (file.shape().size() != 1) {
    throw error(failure::input, fmt::format("{}: has {}, but lengths are one number a row; reshape "
                                            "it with numpy's .reshape(-1)",
                                            path, amount_of(file.shape().size(), "dimension")));
  }
  length_file all{written, path, content_hashes::of(input_file::open(path)), {}};
  all.numbers = file.type() == element_type::int32 ? narrowed<std::int32_t>(file, path)
                                                   : narrowed<std::int64_t>(file, path);
  file.require_unchanged();
  return all;
}

}  // namespace

void read_lengths(sweep_config& config) {
  for (row_lengths& l : config.axes.row_lengths) {
    if (l.kind != length_kind::file) continue;
    const std::string& written = l.from->written;
    l.from =
        std::make_shared<const length_file>(read(written, dataset_path(config, written).string()));
  }
  for (sweep_config& part : config.parts) read_lengths(part);
}

void read_lengths_again(row_lengths& l) {
  if (l.kind != length_kind::file) return;
  const std::string before = l.from->hash;
  l.from = std::make_shared<const length_file>(read(l.from->written, l.from->path));
  if (l.from->hash == before) return;
  throw error(failure::input, fmt::format("{}: changed since the sweep began", l.from->path));
}

}  // namespace kselect::harness
