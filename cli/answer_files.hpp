#pragma once
// The files of an answer, which appear only when all of them are written.

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/cli.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/npy.hpp"

namespace kselect::cli {

class answer_files {
 public:
  // An array in C order. An empty name stands for a file that was not asked for. Throws
  // failure::output, as all members.
  void add(const std::string& file, element_type type, std::span<const std::int64_t> shape,
           std::span<const std::byte> data);
  // At most one.
  void add_text(const std::string& file, std::string_view text);
  void commit();

 private:
  std::list<npy_writer> arrays_;
  std::optional<atomic_file> text_;
};

}  // namespace kselect::cli
