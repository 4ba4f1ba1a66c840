#pragma once
// A place of fibers, which stand for a device: the host's memory is theirs.

#include "kselect/select.hpp"

namespace kselect {

struct detail::place_access {
  static place fibers() {
    static const kselect::device device{
        .kind = executor_kind::fiber, .name = "fibers", .threads = 2, .shared_bytes = 227 * 1024};
    return {&device, nullptr, -1, {}};
  }
};

}  // namespace kselect
