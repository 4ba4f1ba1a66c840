#pragma once
// Converts between the interface of search/metric/space.hpp and the types of one metric.

#include <string>
#include <vector>

#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

template <metric M>
class set_holder final : public object_set {
 public:
  explicit set_holder(typename M::set objects) : objects_(std::move(objects)) {}

  std::int64_t count() const override { return objects_.count(); }
  std::unique_ptr<object_set> gather(std::span<const std::int64_t> numbers) const override {
    return std::make_unique<set_holder>(objects_.gather(numbers));
  }
  void save(const std::string& file) const override { M::save(objects_, file); }
  std::string text(std::int64_t i) const override { return M::text(objects_, i); }
  void write(sections& out) const override { M::write(objects_, out); }

  const typename M::set& get() const { return objects_; }
  typename M::set& get() { return objects_; }

 private:
  typename M::set objects_;
};

// Throws failure::usage for objects of another space; the message names the wanted one.
[[noreturn]] void wrong_space(std::string_view wanted);

template <metric M>
const typename M::set& set_of(const object_set& objects) {
  const auto* const held = dynamic_cast<const set_holder<M>*>(&objects);
  if (held == nullptr) wrong_space(M::name);
  return held->get();
}

void require_k(std::int64_t k, std::int64_t objects);
void require_radius(float radius);

// Builds the answer from each query's hits, by query.
range_answer collected(const std::vector<std::vector<entry>>& hits);

}  // namespace kselect::search::metric_space
