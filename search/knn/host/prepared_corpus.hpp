#pragma once
// What a search on the host knows of its vectors before it multiplies any, and the error of its
// products.
//
// Euclidean distances do not change when both vectors are moved. Images
// (runtime/distance/images.hpp) are moved by the corpus' mean, which makes them short and so the
// rounding errors of their products small. docs/decisions/knn.md derives the bounds.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/distance/images.hpp"
#include "runtime/io/vectors.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Vectors with their images, and the squared norms of these about a centre. A vector without a
// direction counts 1 more, so that |x|^2 + |y|^2 - 2 x.y is 2 for it, as in ranked_difference().
struct moved_vectors {
  vector_view vectors;
  std::vector<image> images;
  std::vector<double> squares;
  double largest_square = 0;
  bool integers = false;  // components are integers below 2^22, and so are the centre's

  const float* vector(std::int64_t i) const { return vectors.data + i * vectors.dimension; }
};

class prepared_corpus {
 public:
  // Keeps the view: the vectors must outlive this object. `name` is the vectors' in messages. Takes
  // 32 bytes a vector and 8 a component. Throws error(failure::input) if a component is not finite.
  prepared_corpus(vector_view base, const std::string& name, metric m, int threads);

  const moved_vectors& base() const { return base_; }
  std::span<const double> centre() const { return centre_; }
  std::int64_t count() const { return base_.vectors.count; }
  std::int64_t dimension() const { return base_.vectors.dimension; }
  runtime::metric metric() const { return metric_; }
  // What |x|^2 and |y|^2 count in a ranked distance: 0 for the inner product.
  double weight_of_squares() const { return metric_ == metric::inner_product ? 0 : 1; }

  // The queries' numbers. Throws as the constructor.
  moved_vectors move(vector_view queries, const std::string& name, int threads) const;

 private:
  bool has_integers(vector_view set) const;
  void find_centre(vector_view base, bool whole, int threads);
  moved_vectors moved(vector_view set, bool whole, const std::string& name, int threads) const;

  runtime::metric metric_;
  std::vector<double> centre_;
  moved_vectors base_;
};

// A power of 2 by which images are multiplied before they become T, so that no norm is beyond 1.
// Products are then neither infinite nor, beside the largest, denormal. 1 for integers, which stay
// integers.
double scale_for(const moved_vectors& base, const moved_vectors& queries);

// How far |x|^2 + |y|^2 - 2 x.y (for the inner product -2 x.y) may be from the ranked distance,
// with the product x.y in T, for images with these norms about the centre. Grows with either norm.
class product_error {
 public:
  // `digits`: of T, 24 or 53. `scale`: see scale_for().
  product_error(const prepared_corpus& corpus, const moved_vectors& queries, int digits,
                double scale);

  // False: sums of so many terms have no bound in T.
  bool known() const { return known_; }
  double of(double norm_x, double norm_y) const {
    const double product = norm_x * norm_y, sum = norm_x + norm_y;
    const double terms = of_products_ ? 4 * product : sum * sum;
    return (product < exact_below_ ? 0 : factor_ * product) + sums_ * terms + least_;
  }

 private:
  bool known_, of_products_;
  double factor_, sums_, least_;
  double exact_below_ = 0;  // products of integers whose partial sums stay below 2^digits
};

}  // namespace kselect::search
