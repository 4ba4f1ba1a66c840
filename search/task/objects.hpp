#pragma once
// The objects that the index searches of a sweep are measured on: generated vectors, or files.

#include <map>
#include <memory>

#include "harness/plan/input.hpp"
#include "harness/plan/plan.hpp"
#include "search/metric/space.hpp"
#include "search/search.hpp"

namespace kselect::search {

struct problem_objects {
  std::unique_ptr<metric_space::object_set> objects, queries;
};

class objects_input : public sweep_input {
 public:
  // The first n objects and Q queries of a cell's problem, under its metric.
  virtual std::shared_ptr<const problem_objects> objects(const cell& c,
                                                         const metric_space::space& in) const = 0;
};

// Throws whatever the readers of files throw, and error(failure::usage) for a file under two
// metrics that find different numbers of objects in it.
std::unique_ptr<objects_input> open_objects(const input_choice& choice);

// Whether generated vectors can be objects of this space.
bool takes_vectors(const metric_space::space& in);

}  // namespace kselect::search
