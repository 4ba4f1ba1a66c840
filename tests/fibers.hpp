#pragma once
// A place of fibers, which stand for a device: the host's memory is theirs.

#include "kselect/select.hpp"
#include "kselect/simt/test_device.hpp"

namespace kselect {

struct detail::place_access {
  static place fibers() {
    static const kselect::device device = simt::test_device(2);
    return {&device, nullptr, -1, {}};
  }
};

}  // namespace kselect
