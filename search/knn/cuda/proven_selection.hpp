#pragma once
// Selection from rows that exist only on the GPU, with the certificate of the rows asked for.
//
// `trial` (harness/run/trial.hpp) proves against a host copy of all rows. Here the distances are
// computed on the GPU, and downloading all would take longer than everything else. So only the rows
// to be proven are downloaded, before the algorithm may change them.

#include <cstdint>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "search/knn/cuda/candidates.hpp"
#include "search/knn/knn.hpp"
#include "search/search.hpp"

namespace kselect::search {

// int32 if the algorithm writes it: rows on a device are shorter than 2^31, and narrow positions
// save bandwidth.
constexpr index_type narrow_index(const algorithm& entry) {
  return entry.index_types.contains(index_type::int32) ? index_type::int32 : index_type::int64;
}

class proven_selection {
 public:
  // For answers of at most max_rows x kept elements.
  proven_selection(const algorithm& entry, backend& place, proof_scope scope, std::int64_t max_rows,
                   std::int64_t kept);

  // Enqueues the selection of `kept` elements from each of `count` rows of `n` floats, `pitch`
  // apart, in device memory. The answer is valid until the next call. An algorithm that works in
  // place may change the rows. Throws error(failure::unsupported) or error(failure::resources) if
  // the algorithm cannot do it, and error(failure::wrong_answer) if a certificate fails.
  selected run(float* rows, std::int64_t count, std::int64_t n, std::int64_t pitch);

  // Turns proofs of later selections on or off, within the scope. At first they are on.
  void prove_from_now_on(bool wanted) { proves_ = wanted; }
  // Rows proven so far.
  std::int64_t rows_proven() const { return rows_proven_; }

 private:
  std::vector<std::int64_t> rows_to_prove(std::int64_t count);
  std::vector<float> download(const float* rows, const problem& p,
                              const std::vector<std::int64_t>& sample);
  void prove(const problem& p, const std::vector<std::int64_t>& sample,
             const std::vector<float>& input);

  const algorithm& entry_;
  backend& place_;
  proof_scope scope_;
  std::int64_t kept_;
  index_type index_;
  device_buffer values_, positions_, workspace_;
  bool proves_ = true;
  std::uint64_t samples_drawn_ = 0;
  std::int64_t rows_proven_ = 0;
};

}  // namespace kselect::search
