/// Attributes with a meaning of their own, and what they hold.
#ifndef MINPY_ATTRIBUTES_H_
#define MINPY_ATTRIBUTES_H_

#include "platform.h"

#define MX_STR_SUBGRAPH_SYM_JSON "subgraph_sym_json"
#define MX_STR_DTYPE "__ext_dtype__"
#define MX_STR_SHAPE "__ext_shape__"
#define MX_STR_EXTRA_INPUTS "__ext_extra_inputs__"

namespace minpy PRIVATE_SYMBOL {

/// One element of a list such as `[[3,2],[4]]`, as it is written there.
inline std::string element_at(const std::string& list, unsigned int index) {
  int depth = 0;
  unsigned int position = 0;
  std::string element;
  for (const char character : list) {
    if (character == ']') --depth;
    if (depth == 1 && character == ',') {
      if (position++ == index) return element;
    } else if (depth >= 1 && position == index && (character != ' ' || !element.empty())) {
      element += character;
    }
    if (character == '[') ++depth;
  }
  if (depth != 0 || element.empty() || position != index) {
    throw std::out_of_range("'" + list + "' is no list with an element " + std::to_string(index));
  }
  return element;
}

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// The shape of one output, as in `[3,2]`, of the shapes in attribute MX_STR_SHAPE.
inline std::string getShapeAt(const std::string& shapes, unsigned int index) {
  return minpy::element_at(shapes, index);
}

/// The number of the dtype of one output, of those in attribute MX_STR_DTYPE.
inline std::string getDtypeAt(const std::string& dtypes, unsigned int index) {
  return minpy::element_at(dtypes, index);
}

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_ATTRIBUTES_H_
