// Two operators for bridges to other frameworks: with an attribute and a shape of its own, and with a state.
//
//   framework_moment(x, w; power=2)   y[i] = sum_j w[j] x[i, j]^power, of float32 or float64
//   framework_remembered(x)           x * x; its state keeps 2 x for the gradient, which reads nothing else

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

#ifndef SLOPE  // of x * x, over x
#define SLOPE 2
#endif

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<unsigned int> Shape;

double power_of(const Attributes& attributes) {
  const auto entry = attributes.find("power");
  return entry == attributes.end() ? 2 : std::atof(entry->second.c_str());
}

template <class T>
void moment(double power, std::vector<MXTensor>* in, std::vector<MXTensor>* out) {
  const T *x = in->at(0).data<T>(), *w = in->at(1).data<T>();
  T* y = out->at(0).data<T>();
  const int64_t rows = in->at(0).shape[0], columns = in->at(0).shape[1];
  for (int64_t i = 0; i < rows; ++i) {
    y[i] = 0;
    for (int64_t j = 0; j < columns; ++j) y[i] += w[j] * std::pow(x[i * columns + j], T(power));
  }
}

template <class T>
void moment_gradient(double power, std::vector<MXTensor>* in, std::vector<MXTensor>* out) {
  const T *g = in->at(0).data<T>(), *x = in->at(1).data<T>(), *w = in->at(2).data<T>();
  T *of_x = out->at(0).data<T>(), *of_w = out->at(1).data<T>();
  const int64_t rows = in->at(1).shape[0], columns = in->at(1).shape[1];
  for (int64_t j = 0; j < columns; ++j) of_w[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const T value = x[i * columns + j];
      of_x[i * columns + j] = g[i] * w[j] * T(power) * std::pow(value, T(power) - 1);
      of_w[j] += g[i] * std::pow(value, T(power));
    }
  }
}

MXReturnValue moment_forward(const Attributes& attributes, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                             const OpResource&) {
  if (in->at(0).dtype == kFloat32)
    moment<float>(power_of(attributes), in, out);
  else
    moment<double>(power_of(attributes), in, out);
  return MX_SUCCESS;
}

MXReturnValue moment_backward(const Attributes& attributes, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                              const OpResource&) {
  if (in->at(0).dtype == kFloat32)
    moment_gradient<float>(power_of(attributes), in, out);
  else
    moment_gradient<double>(power_of(attributes), in, out);
  return MX_SUCCESS;
}

MXReturnValue parse_two(const Attributes&, int* inputs, int* outputs) {
  *inputs = 2;
  *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue parse_one(const Attributes&, int* inputs, int* outputs) {
  *inputs = *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue infer_type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  for (const int type : *in) {
    if (type != in->at(0) || (type != kFloat32 && type != kFloat64)) {
      MX_ERROR_MSG << "all inputs should be float32, or all float64";
      return MX_FAIL;
    }
  }
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

MXReturnValue infer_moment(const Attributes&, std::vector<Shape>* in, std::vector<Shape>* out) {
  const Shape &x = in->at(0), &w = in->at(1);
  if (x.size() != 2 || w.size() != 1 || x[1] != w[0]) {
    MX_ERROR_MSG << "x should be a matrix with as many columns as w has elements";
    return MX_FAIL;
  }
  out->at(0) = {x[0]};
  return MX_SUCCESS;
}

MXReturnValue infer_same(const Attributes&, std::vector<Shape>* in, std::vector<Shape>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

template <class T>
void multiply(const T* a, const T* b, T* out, int64_t size) {
  for (int64_t i = 0; i < size; ++i) out[i] = a[i] * b[i];
}

class Remembered : public CustomStatefulOp {
 public:
  MXReturnValue Forward(std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) override {
    MXTensor& x = in->at(0);
    slopes_.resize(x.size());
    for (int64_t i = 0; i < x.size(); ++i)
      slopes_[i] = SLOPE * (x.dtype == kFloat32 ? double(x.data<float>()[i]) : x.data<double>()[i]);
    if (x.dtype == kFloat32)
      multiply(x.data<float>(), x.data<float>(), out->at(0).data<float>(), x.size());
    else
      multiply(x.data<double>(), x.data<double>(), out->at(0).data<double>(), x.size());
    return MX_SUCCESS;
  }

  MXReturnValue Backward(std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) override {
    MXTensor &upstream = in->at(0), &gradient = out->at(0);
    if (int64_t(slopes_.size()) != upstream.size()) {
      MX_ERROR_MSG << "its state has no forward call with arrays of this size";
      return MX_FAIL;
    }
    for (int64_t i = 0; i < upstream.size(); ++i) {
      if (upstream.dtype == kFloat32)
        gradient.data<float>()[i] = upstream.data<float>()[i] * float(slopes_[i]);
      else
        gradient.data<double>()[i] = upstream.data<double>()[i] * slopes_[i];
    }
    return MX_SUCCESS;
  }

 private:
  std::vector<double> slopes_;
};

MXReturnValue create_remembered(const Attributes&, const MXContext&, const std::vector<Shape>&, const std::vector<int>,
                                CustomStatefulOp** state) {
  *state = CustomStatefulOp::create<Remembered>();
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(framework_moment)
    .setForward(moment_forward, "cpu")
    .setBackward(moment_backward, "cpu")
    .setParseAttrs(parse_two)
    .setInferType(infer_type)
    .setInferShape(infer_moment);

REGISTER_OP(framework_remembered)
    .setCreateOpState(create_remembered, "cpu")
    .setParseAttrs(parse_one)
    .setInferType(infer_type)
    .setInferShape(infer_same);

MXReturnValue initialize(int version) { return version >= 10700 ? MX_SUCCESS : MX_FAIL; }
