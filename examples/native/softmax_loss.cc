// The cross-entropy of a softmax as one operator of a library: the loss of a classifier.
//
//   my_softmax_loss(scores, labels)
//     scores has a row for each example, of a score for each class; labels has the number of the
//     right class of each example. There is a loss for each:
//       L = -log p[label],   p = exp(scores) / sum(exp(scores)) = softmax(scores).
//
// Gradients, for g = dL'/dL of what is computed from the losses:
//   dL'/dscores = g (p - 1 at the label),   and none for labels, which are whole numbers.
//
// Both inputs are of float32, or both of float64.

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<unsigned int> Shape;

MXReturnValue parse_attributes(const Attributes&, int* inputs, int* outputs) {
  *inputs = 2;
  *outputs = 1;
  return MX_SUCCESS;
}

const int kUnknownType = -1;

MXReturnValue infer_type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  int& scores = in->at(0);
  int& labels = in->at(1);
  if (scores == kUnknownType) scores = labels;
  if (labels == kUnknownType) labels = scores;
  if (scores != labels || (scores != kFloat32 && scores != kFloat64 && scores != kUnknownType)) {
    MX_ERROR_MSG << "scores and labels should both be float32 (" << kFloat32 << ") or both float64 ("
                 << kFloat64 << "); the numbers of their types are " << scores << " and " << labels;
    return MX_FAIL;
  }
  out->at(0) = scores;
  return MX_SUCCESS;
}

MXReturnValue infer_shape(const Attributes&, std::vector<Shape>* in, std::vector<Shape>* out) {
  const Shape& scores = in->at(0);
  if (scores.size() != 2 || scores[1] == 0) {
    MX_ERROR_MSG << "scores should be a matrix, of a row for each example and at least one class; "
                 << "it has " << scores.size() << " dimensions";
    return MX_FAIL;
  }
  const Shape rows = {scores[0]};
  Shape& labels = in->at(1);
  if (labels.empty()) labels = rows;  // not known yet
  if (labels != rows) {
    MX_ERROR_MSG << "labels should be one number for each of the " << scores[0]
                 << " rows of scores; it has " << labels.size() << " dimensions"
                 << (labels.size() == 1 ? " and " + std::to_string(labels[0]) + " numbers" : "");
    return MX_FAIL;
  }
  out->at(0) = rows;
  return MX_SUCCESS;
}

// The place of a label in its row of scores, or -1 with a message.
template <typename T>
int64_t place_of(T label, int64_t row, int64_t classes) {
  if (label >= 0 && label < static_cast<T>(classes) && label == std::floor(label))
    return static_cast<int64_t>(label);
  MX_ERROR_MSG << "the labels of " << classes << " classes are from 0 to " << classes - 1
               << "; labels[" << row << "] is " << label;
  return -1;
}

// log(sum(exp(scores))), without a number that is too large: the largest is taken out, and put back.
template <typename T>
double log_sum_exp(const T* scores, int64_t classes) {
  const double largest = *std::max_element(scores, scores + classes);
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(scores[k] - largest);
  return largest + std::log(sum);
}

template <typename T>
MXReturnValue run(std::vector<MXTensor>& in, std::vector<MXTensor>& out) {
  const int64_t rows = in[0].shape[0], classes = in[0].shape[1];
  for (int64_t row = 0; row < rows; ++row) {
    const T* const scores = in[0].data<T>() + row * classes;
    const int64_t place = place_of(in[1].data<T>()[row], row, classes);
    if (place < 0) return MX_FAIL;
    out[0].data<T>()[row] = static_cast<T>(log_sum_exp(scores, classes) - scores[place]);
  }
  return MX_SUCCESS;
}

// What backward gets: the gradient of the losses, then scores and labels, then the losses.
template <typename T>
MXReturnValue differentiate(std::vector<MXTensor>& in, std::vector<MXTensor>& out) {
  const int64_t rows = in[1].shape[0], classes = in[1].shape[1];
  for (int64_t row = 0; row < rows; ++row) {
    const double g = in[0].data<T>()[row];
    const T* const scores = in[1].data<T>() + row * classes;
    T* const slopes = out[0].data<T>() + row * classes;
    const int64_t place = place_of(in[2].data<T>()[row], row, classes);
    if (place < 0) return MX_FAIL;
    const double logarithm = log_sum_exp(scores, classes);
    for (int64_t k = 0; k < classes; ++k)
      slopes[k] = static_cast<T>(g * (std::exp(scores[k] - logarithm) - (k == place)));
    out[1].data<T>()[row] = 0;
  }
  return MX_SUCCESS;
}

MXReturnValue forward(const Attributes&, std::vector<MXTensor>* inputs,
                      std::vector<MXTensor>* outputs, const OpResource&) {
  return inputs->at(0).dtype == kFloat64 ? run<double>(*inputs, *outputs)
                                         : run<float>(*inputs, *outputs);
}

MXReturnValue backward(const Attributes&, std::vector<MXTensor>* inputs,
                       std::vector<MXTensor>* outputs, const OpResource&) {
  return inputs->at(0).dtype == kFloat64 ? differentiate<double>(*inputs, *outputs)
                                         : differentiate<float>(*inputs, *outputs);
}

}  // namespace

REGISTER_OP(my_softmax_loss)
    .setForward(forward, "cpu")
    .setBackward(backward, "cpu")
    .setParseAttrs(parse_attributes)
    .setInferType(infer_type)
    .setInferShape(infer_shape);

// Called once, when the library is loaded; the version is 10901 for MXNet 1.9.1.
MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "this library needs MXNet 1.9 or later, and is loaded by version " << version;
  return MX_FAIL;
}
