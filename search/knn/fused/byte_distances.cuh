#pragma once
// Device code: squared distances between vectors of bytes, from their rounded rows (layout.hpp).
//
// A rounded vector whose error is 0 is the vector itself, moved by the corpus' centre. So
//
//     |x - y|^2 = |x|^2 + |y|^2 - 2 x.y
//
// is exact in integers. It has the bits of the sum of squared differences in float64, which is
// exact, too, and reads a quarter of the memory.

#include <cstdint>

#include "search/knn/fused/images.cuh"

namespace kselect::search::fused {

// Rounded rows of bytes: of the queries by row, of the corpus by position.
struct byte_rows {
  global<const chunk> queries;
  rounded corpus;
  int slabs = 0;  // of a vector; 0: vectors are no bytes

  // Of products by these factors.
  static byte_rows of(simt::product factors, const rounded& queries, const rounded& corpus,
                      std::int64_t slabs) {
    if (!simt::of_bytes(factors)) return {};
    return {queries.slabs, corpus, static_cast<int>(slabs)};
  }
  // The chunks that a query takes in shared memory: its row, and one for its square.
  KSELECT_HD static constexpr int chunks_of_query(int slabs) {
    return slabs == 0 ? 0 : slabs * slab_chunks + 1;
  }
};

// A block's query, and the distances to it. What is known of the query is kept in shared memory.
template <class Simt>
class byte_distances {
 public:
  // `all_exact`: no vector of the corpus has an error.
  KSELECT_HD byte_distances(Simt& simt, const byte_rows& rows, bool all_exact, chunk* query)
      : simt_(simt), rows_(rows), all_exact_(all_exact), query_(query) {}

  // Copies the query's row to shared memory. A barrier must follow. If the query's error is not 0,
  // no distance is exact.
  KSELECT_HD void place(std::int64_t row, const global<const double>& squares,
                        const global<const double>& errors) const {
    if (rows_.slabs == 0) return;
    if (simt_.thread() == 0) {
      const bool exact = simt_.load(errors, row) == 0;
      square() = exact ? simt_.load(squares, row) : none;
    }
    const std::int64_t from = first_chunk(row);
    const auto in_tile = static_cast<int>(row % tile_rows);
    for (int i = simt_.thread(); i < rows_.slabs * slab_chunks; i += simt_.threads()) {
      const int slab = i / slab_chunks, own = i % slab_chunks;
      query_[slab * slab_chunks + (own ^ (in_tile & 7))] =
          simt_.load(rows_.queries, from + std::int64_t{slab} * slab_vectors + own);
    }
  }

  KSELECT_HD bool any() const { return rows_.slabs != 0 && square() != none; }

  // A warp calls it. Lanes 8 i to 8 i + 7 give the same position and get its distance. Returns
  // false, for all lanes, if one of the four vectors is not exact.
  KSELECT_HD bool measure(std::int64_t position, double& distance) const {
    const bool inexact = !all_exact_ && simt_.load(rows_.corpus.errors, position) != 0;
    if (simt_.ballot(simt::full_mask, inexact) != 0) return false;
    const double of_y = simt_.load(rows_.corpus.squares, position);
    distance = square() + of_y - 2.0 * product(position);
    return true;
  }

 private:
  // So many chunks of a vector are loaded at once.
  static constexpr int at_once = 4;
  static constexpr double none = -1;  // no square

  KSELECT_HD double& square() const {
    return *reinterpret_cast<double*>(query_ + rows_.slabs * slab_chunks);
  }
  KSELECT_HD std::int64_t first_chunk(std::int64_t row) const {
    return row / tile_rows * rows_.slabs * slab_vectors + row % tile_rows * slab_chunks;
  }

  KSELECT_HD std::int32_t product(std::int64_t position) const {
    const int own = simt_.lane() % slab_chunks;
    const std::int64_t from = first_chunk(position) + own;
    const chunk* const query = query_ + (own ^ static_cast<int>(position & 7));
    std::int32_t sum = 0;
    for (int first = 0; first < rows_.slabs; first += at_once) {
      chunk of_y[at_once] = {};
      KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
        if (first + i >= rows_.slabs) continue;
        of_y[i] = simt_.load(rows_.corpus.slabs, from + std::int64_t{first + i} * slab_vectors);
      }
      KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
        if (first + i >= rows_.slabs) continue;
        const chunk of_x = query[(first + i) * slab_chunks];
        KSELECT_UNROLL for (int word = 0; word < 4; ++word) {
          sum = simt_.dot4(of_x[word], of_y[i][word], sum);
        }
      }
    }
    for (int step = slab_chunks / 2; step > 0; step /= 2) {
      sum += simt_.shfl_xor(simt::full_mask, sum, step);
    }
    return sum;
  }

  Simt& simt_;
  const byte_rows& rows_;
  bool all_exact_;
  chunk* query_;
};

}  // namespace kselect::search::fused
