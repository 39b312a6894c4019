// Batch normalization as an operator of a library: two of its inputs change with each call.
//
//   my_batch_norm(data, gamma, beta, moving_mean, moving_var,
//                 eps=1e-5, momentum=0.9, training=True)
//
// data has the shape (N, C) or (N, C, ...), and each of the other inputs (C); all are of float32,
// or all of float64. Each channel c is normalized on its own, over the m numbers that it has in a
// batch (Ioffe and Szegedy, 2015, "Batch Normalization: Accelerating Deep Network Training by
// Reducing Internal Covariate Shift", arXiv:1502.03167, Algorithm 1):
//
//   mean = sum(x) / m,   var = sum((x - mean)^2) / m,
//   n = (x - mean) / sqrt(var + eps),   y = gamma n + beta.
//
// While training, the moving averages follow the batches', as MXNet's own BatchNorm has it:
//   moving_mean = momentum moving_mean + (1 - momentum) mean, and so moving_var.
// With training=False, they stand in for the batch's mean and var, and stay as they are.
//
// Gradients, for g = dL/dy (section 3 of the paper, its chain of six equations put together):
//   dL/dgamma = sum(g n),   dL/dbeta = sum(g),
//   dL/dx = gamma / sqrt(var + eps) (g - sum(g) / m - n sum(g n) / m),
// and dL/dx = gamma / sqrt(var + eps) g with training=False, where mean and var are constants.
//
// All sums are in float64, whatever the arrays hold.

#include <cmath>
#include <locale>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<unsigned int> Shape;

enum Input { kData, kGamma, kBeta, kMovingMean, kMovingVar, kInputs };
const char* const kNames[kInputs] = {"data", "gamma", "beta", "moving_mean", "moving_var"};

// ---------------------------------------------------------------------------------------------
// Attributes, which arrive as text: what Python's str makes of them

struct Options {
  double eps, momentum;
  bool training;
};

bool read_number(const Attributes& attributes, const std::string& name, double* number) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return true;  // it keeps its default
  // strtod would read decimal commas in a process that has chosen a language with them.
  std::istringstream stream(found->second);
  stream.imbue(std::locale::classic());
  if (stream >> *number && stream.eof() && std::isfinite(*number)) return true;
  MX_ERROR_MSG << name << " should be a number, and is '" << found->second << "'";
  return false;
}

bool read_options(const Attributes& attributes, Options* options) {
  *options = {1e-5, 0.9, true};
  if (!read_number(attributes, "eps", &options->eps) ||
      !read_number(attributes, "momentum", &options->momentum))
    return false;
  if (options->eps <= 0) {
    MX_ERROR_MSG << "eps should be above 0, and is " << options->eps;
    return false;
  }
  if (options->momentum < 0 || options->momentum > 1) {
    MX_ERROR_MSG << "momentum should be from 0 to 1, and is " << options->momentum;
    return false;
  }
  const auto training = attributes.find("training");
  const std::string text = training == attributes.end() ? "True" : training->second;
  options->training = text == "True" || text == "true" || text == "1";
  if (options->training || text == "False" || text == "false" || text == "0") return true;
  MX_ERROR_MSG << "training should be True or False, and is '" << text << "'";
  return false;
}

// ---------------------------------------------------------------------------------------------
// What goes in and what comes out

MXReturnValue parse_attributes(const Attributes& attributes, int* inputs, int* outputs) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  *inputs = kInputs;
  *outputs = 1;
  return MX_SUCCESS;
}

// These inputs are not arguments of the operator but its auxiliary states: compute writes to them.
MXReturnValue mutate_inputs(const Attributes&, std::vector<int>* indices) {
  *indices = {kMovingMean, kMovingVar};
  return MX_SUCCESS;
}

const int kUnknownType = -1;

MXReturnValue infer_type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  int known = kUnknownType;
  for (const int type : *in)
    if (known == kUnknownType) known = type;
  for (int i = 0; i < kInputs; ++i) {
    int& type = in->at(i);
    if (type == kUnknownType) type = known;  // all are the same: who knows one knows them all
    if (type != known || (type != kFloat32 && type != kFloat64 && type != kUnknownType)) {
      MX_ERROR_MSG << "all inputs should be float32 (" << kFloat32 << ") or all float64 ("
                   << kFloat64 << "); the number of " << kNames[i] << "'s type is " << type
                   << (type != known ? ", of those before it " + std::to_string(known) : "");
      return MX_FAIL;
    }
  }
  out->at(0) = known;
  return MX_SUCCESS;
}

const unsigned int kUnknownLength = static_cast<unsigned int>(-1);

std::string to_text(const Shape& shape) {
  std::string text;
  for (const unsigned int length : shape)
    text += (text.empty() ? "" : ", ") + (length == kUnknownLength ? "?" : std::to_string(length));
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

MXReturnValue infer_shape(const Attributes&, std::vector<Shape>* in, std::vector<Shape>* out) {
  const Shape& data = in->at(kData);
  if (data.size() < 2) {
    MX_ERROR_MSG << "data should have the shape (N, C) or (N, C, ...), and has " << to_text(data);
    return MX_FAIL;
  }
  const Shape expected = {data[1]};
  for (int i = kGamma; i < kInputs; ++i) {
    Shape& shape = in->at(i);
    if (shape.empty() || shape == Shape{kUnknownLength}) shape = expected;  // not known yet
    if (shape != expected) {
      MX_ERROR_MSG << kNames[i] << " should have the shape " << to_text(expected)
                   << ", a number for each channel of data, which has the shape " << to_text(data)
                   << "; it has " << to_text(shape);
      return MX_FAIL;
    }
  }
  out->at(0) = data;
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// The arithmetic

struct Statistics {
  double mean, deviation;  // the deviation is sqrt(var + eps)
};

// The numbers of each channel: N runs of `inner` numbers, `channels` runs apart.
struct Layout {
  int64_t batch, channels, inner;

  explicit Layout(const std::vector<int64_t>& shape)
      : batch(shape[0]), channels(shape[1]), inner(1) {
    for (size_t i = 2; i < shape.size(); ++i) inner *= shape[i];
  }

  int64_t size_of_channel() const { return batch * inner; }

  // Calls visit(position) for each number of a channel, in their order in memory.
  template <typename Visit>
  void visit_channel(int64_t channel, Visit visit) const {
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t start = (n * channels + channel) * inner;
      for (int64_t i = start; i < start + inner; ++i) visit(i);
    }
  }
};

// Two passes: the textbook's single one, the mean of squares less the square of the mean, loses all
// of the variance's digits where the mean is large.
template <typename T>
void measure(const Layout& layout, const T* x, int64_t channel, double* mean, double* variance) {
  const double m = static_cast<double>(layout.size_of_channel());
  double sum = 0, squares = 0;
  layout.visit_channel(channel, [&](int64_t i) { sum += x[i]; });
  const double center = sum / m;
  layout.visit_channel(channel, [&](int64_t i) { squares += (x[i] - center) * (x[i] - center); });
  *mean = center;
  *variance = squares / m;
}

template <typename T>
void normalize(std::vector<MXTensor>& in, MXTensor& out, const Options& options) {
  const Layout layout(in[kData].shape);
  const T* const x = in[kData].data<T>();
  const T *const gamma = in[kGamma].data<T>(), *const beta = in[kBeta].data<T>();
  T *const moving_mean = in[kMovingMean].data<T>(), *const moving_var = in[kMovingVar].data<T>();
  T* const y = out.data<T>();
  if (layout.size_of_channel() == 0) return;  // an empty batch has no mean to follow
  for (int64_t c = 0; c < layout.channels; ++c) {
    double mean = moving_mean[c], variance = moving_var[c];
    if (options.training) {
      measure(layout, x, c, &mean, &variance);
      const double keep = options.momentum;
      moving_mean[c] = static_cast<T>(keep * moving_mean[c] + (1 - keep) * mean);
      moving_var[c] = static_cast<T>(keep * moving_var[c] + (1 - keep) * variance);
    }
    const double scale = gamma[c] / std::sqrt(variance + options.eps);
    const double shift = beta[c];
    layout.visit_channel(
        c, [&](int64_t i) { y[i] = static_cast<T>((x[i] - mean) * scale + shift); });
  }
}

// What backward gets: the gradient of the output, then the inputs, then the output of forward. The
// batch's mean and variance are computed again, from the data that forward had.
template <typename T>
void differentiate(std::vector<MXTensor>& in, std::vector<MXTensor>& out, const Options& options) {
  MXTensor* const inputs = &in[1];
  const Layout layout(inputs[kData].shape);
  const double m = static_cast<double>(layout.size_of_channel());
  const T* const g = in[0].data<T>();
  const T *const x = inputs[kData].data<T>(), *const gamma = inputs[kGamma].data<T>();
  for (int64_t c = 0; c < layout.channels; ++c) {
    double mean = inputs[kMovingMean].data<T>()[c], variance = inputs[kMovingVar].data<T>()[c];
    if (options.training && m > 0) measure(layout, x, c, &mean, &variance);
    const double factor = 1 / std::sqrt(variance + options.eps);

    double sum_g = 0, sum_gn = 0;
    layout.visit_channel(c, [&](int64_t i) {
      sum_g += g[i];
      sum_gn += g[i] * ((x[i] - mean) * factor);
    });
    out[kGamma].data<T>()[c] = static_cast<T>(sum_gn);
    out[kBeta].data<T>()[c] = static_cast<T>(sum_g);

    const double scale = gamma[c] * factor;
    const double offset = options.training ? sum_g / m : 0;
    const double slope = options.training ? sum_gn / m * factor : 0;
    T* const dx = out[kData].data<T>();
    layout.visit_channel(c, [&](int64_t i) {
      dx[i] = static_cast<T>(scale * (g[i] - offset - slope * (x[i] - mean)));
    });

    out[kMovingMean].data<T>()[c] = 0;  // every input has a gradient; an average's is of no use
    out[kMovingVar].data<T>()[c] = 0;
  }
}

MXReturnValue forward(const Attributes& attributes, std::vector<MXTensor>* inputs,
                      std::vector<MXTensor>* outputs, const OpResource&) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  if (outputs->at(0).dtype == kFloat64)
    normalize<double>(*inputs, outputs->at(0), options);
  else
    normalize<float>(*inputs, outputs->at(0), options);
  return MX_SUCCESS;
}

MXReturnValue backward(const Attributes& attributes, std::vector<MXTensor>* inputs,
                       std::vector<MXTensor>* outputs, const OpResource&) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  if (outputs->at(0).dtype == kFloat64)
    differentiate<double>(*inputs, *outputs, options);
  else
    differentiate<float>(*inputs, *outputs, options);
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(my_batch_norm)
    .setForward(forward, "cpu")
    .setBackward(backward, "cpu")
    .setParseAttrs(parse_attributes)
    .setInferType(infer_type)
    .setInferShape(infer_shape)
    .setMutateInputs(mutate_inputs);

// Called once, when the library is loaded; the version is 10901 for MXNet 1.9.1.
MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "this library needs MXNet 1.9 or later, and is loaded by version " << version;
  return MX_FAIL;
}
