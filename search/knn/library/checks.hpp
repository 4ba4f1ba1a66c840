#pragma once
// What the library's k-NN calls refuse, and how what is thrown below them becomes a status.

#include <new>
#include <string>
#include <utility>

#include "kselect/knn.hpp"
#include "runtime/error.hpp"

namespace kselect::search {

inline status invalid(std::string message) { return {status_code::invalid, std::move(message)}; }

// Why these are no vectors, as a sentence; empty if they are.
std::string objection_to_vectors(const vector_rows& vectors, const char* name);

// Why a corpus cannot be searched for the k nearest of so many queries; empty if it can.
std::string objection_to_search(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                                const knn_options& options);

// Why an answer of Q * k elements does not fit; empty if it does.
std::string objection_to_answer(std::int64_t queries, std::int64_t k,
                                std::span<const float> distances,
                                std::span<const std::int64_t> indices);

// The status of `work`, or of what it throws.
template <class Work>
status caught(Work&& work) {
  try {
    return work();
  } catch (const runtime::error& failed) {
    switch (failed.category()) {
      case runtime::failure::input:
      case runtime::failure::usage:
        return {status_code::invalid, failed.what()};
      case runtime::failure::resources:
        return {status_code::out_of_memory, failed.what()};
      case runtime::failure::unsupported:
        return {status_code::unsupported, failed.what()};
      default:
        return {status_code::failed, failed.what()};
    }
  } catch (const std::bad_alloc&) {
    return {status_code::out_of_memory, "no memory for the search"};
  } catch (const std::exception& failed) {
    return {status_code::failed, failed.what()};
  }
}

}  // namespace kselect::search
