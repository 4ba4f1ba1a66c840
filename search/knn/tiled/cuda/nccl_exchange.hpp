#pragma once
// The exchange by NCCL. list_exchange.cpp calls it in builds with CUDA and NCCL's header.

#include <memory>
#include <string>

#include "search/knn/tiled/list_exchange.hpp"

namespace kselect::search {

// Why libnccl cannot be loaded; empty if it can.
std::string why_no_nccl();
std::unique_ptr<list_exchange> open_nccl_exchange(communicator& ranks, backend& place);

}  // namespace kselect::search
