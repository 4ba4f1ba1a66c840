#pragma once
// Index files: the objects, their index and their source, in one file.
//
//     bytes 0-7    "kselidx\n"
//           8-11   version, 1                          all numbers little-endian
//          12-15   0
//          16-23   bytes of the header
//          24-31   XXH3 of the header
//          32-39   bytes of the file
//          40-     the header: JSON with metric, kind, number of objects, their source, and for
//                  every section its name, offset, bytes and XXH3
//     sections, each from a multiple of 64 on
//
// A file is written whole or not at all (runtime/io/atomic_file.hpp). Reading checks every length
// and every hash first, then the index against the objects.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

struct indexed_objects {
  const space* in = nullptr;
  std::unique_ptr<object_set> objects;
  index_data index;
  std::string source;  // file name of the objects, without its directory
  // Object i is object numbers[i] of the source; ascending. Empty: it is object i.
  std::vector<std::int64_t> numbers;

  std::int64_t number_of(std::int64_t i) const {
    return numbers.empty() ? i : numbers[static_cast<std::size_t>(i)];
  }
};

// Throws failure::output if the disk of `file` has no room for the objects alone. Before an index is
// built, which may take long.
void require_room(const std::string& file, const object_set& objects);
// Throws failure::output.
void write_index_file(const std::string& file, const indexed_objects& contents);
// Throws failure::input, naming the file and what is wrong: no index file, another version,
// truncated, damaged, or inconsistent.
indexed_objects read_index_file(const std::string& file);

}  // namespace kselect::search::metric_space
