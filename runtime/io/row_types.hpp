#pragma once
// The element types of rows in files. NumPy has no bfloat16 and no 8-bit floats: such rows are
// saved as integers of their width, for example array.view(numpy.uint8), and the user names their
// type.

#include <string>
#include <string_view>

#include "kselect/dtypes.hpp"
#include "runtime/io/element.hpp"

namespace kselect::runtime {

// The type of rows that are held as `held`. `named`: the type that the user names, or empty. Throws
// error(failure::input), which begins with `file`, if no rows have it, or if the named type has
// another width or is not saved so.
dtype row_type(const std::string& file, element_type held, std::string_view named = {});

// The types that files hold as they are, such as "float32, float64, float16 or int32"; or all
// types.
std::string row_types_of_files();
std::string row_types();

}  // namespace kselect::runtime
