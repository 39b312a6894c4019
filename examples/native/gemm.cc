// Matrix products as operators of a library, without a state and with one.
//
//   my_gemm(A, B, transpose_a=False, transpose_b=False)
//     C = A B, of two matrices of float32 or of float64; either may be taken transposed.
//
//   state_gemm(A, B, transpose_a=False, transpose_b=False, count=False)
//     The same, by an object that lives as long as what it is called for: one call of an array
//     function, or one bound graph. With count=True its second output, of one int64, says how
//     often the object has run forward.
//
// Gradients, for G = dL/dC: with X = A or its transpose, and Y = B or its transpose, C = X Y, so
//   dL/dX = G Y',   dL/dY = X' G,
// of which a transposed operand's own gradient is the transpose: (G Y')' = Y G', (X' G)' = G' X.

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {  // what two libraries call by the same name stays apart

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<unsigned int> Shape;

// ---------------------------------------------------------------------------------------------
// The product

// A matrix where it lies in memory. To transpose it is to exchange its strides: nothing is moved.
template <typename T>
struct Matrix {
  const T* data;
  int64_t rows, columns, row_stride, column_stride;

  T at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
  Matrix transposed() const { return Matrix{data, columns, rows, column_stride, row_stride}; }
};

template <typename T>
Matrix<T> matrix_of(MXTensor& tensor, bool transpose = false) {
  const Matrix<T> stored{tensor.data<T>(), tensor.shape[0], tensor.shape[1], tensor.shape[1], 1};
  return transpose ? stored.transposed() : stored;
}

// A part of B of this size stays in the processor's cache while all rows of A pass by.
const int64_t kDepth = 64, kWidth = 256;

// C = A B; C lies row by row. Its innermost loop runs along rows of B and C, which compilers turn
// into vector instructions, and takes four rows of B at a time, so that C is read and written a
// quarter as often.
template <typename T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  std::fill(c, c + a.rows * b.columns, T(0));
  std::vector<T> part(std::min(kDepth, b.rows) * std::min(kWidth, b.columns));
  for (int64_t left = 0; left < b.columns; left += kWidth) {
    const int64_t width = std::min(kWidth, b.columns - left);
    for (int64_t top = 0; top < b.rows; top += kDepth) {
      const int64_t depth = std::min(kDepth, b.rows - top);
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < width; ++j) part[k * width + j] = b.at(top + k, left + j);

      for (int64_t i = 0; i < a.rows; ++i) {
        T* const out = c + i * b.columns + left;
        int64_t k = 0;
        for (; k + 4 <= depth; k += 4) {
          const T a0 = a.at(i, top + k), a1 = a.at(i, top + k + 1);
          const T a2 = a.at(i, top + k + 2), a3 = a.at(i, top + k + 3);
          const T* const b0 = part.data() + k * width;
          const T *const b1 = b0 + width, *const b2 = b1 + width, *const b3 = b2 + width;
          for (int64_t j = 0; j < width; ++j)
            out[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
        }
        for (; k < depth; ++k) {
          const T factor = a.at(i, top + k);
          const T* const row = part.data() + k * width;
          for (int64_t j = 0; j < width; ++j) out[j] += factor * row[j];
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Attributes, which arrive as text: what Python's str makes of them

struct Options {
  bool transpose_a, transpose_b, count;
};

bool read_flag(const Attributes& attributes, const std::string& name, bool* flag) {
  const auto found = attributes.find(name);
  const std::string text = found == attributes.end() ? "False" : found->second;
  *flag = text == "True" || text == "true" || text == "1";
  if (*flag || text == "False" || text == "false" || text == "0") return true;
  MX_ERROR_MSG << name << " should be True or False, and is '" << text << "'";
  return false;
}

bool read_options(const Attributes& attributes, Options* options) {
  return read_flag(attributes, "transpose_a", &options->transpose_a) &&
         read_flag(attributes, "transpose_b", &options->transpose_b) &&
         read_flag(attributes, "count", &options->count);
}

// ---------------------------------------------------------------------------------------------
// What goes in and what comes out

MXReturnValue parse_attributes(const Attributes& attributes, int* inputs, int* outputs) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  *inputs = 2;
  *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue parse_state_attributes(const Attributes& attributes, int* inputs, int* outputs) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  *inputs = 2;
  *outputs = options.count ? 2 : 1;
  return MX_SUCCESS;
}

const int kUnknownType = -1;

MXReturnValue infer_type(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  int& a = in->at(0);
  int& b = in->at(1);
  if (a == kUnknownType) a = b;  // the two are the same: who knows one knows the other
  if (b == kUnknownType) b = a;
  if (a != b || (a != kFloat32 && a != kFloat64 && a != kUnknownType)) {
    MX_ERROR_MSG << "A and B should both be float32 (" << kFloat32 << ") or both float64 ("
                 << kFloat64 << "); the numbers of their types are " << a << " and " << b;
    return MX_FAIL;
  }
  out->at(0) = a;
  if (out->size() > 1) out->at(1) = kInt64;
  return MX_SUCCESS;
}

const unsigned int kUnknownLength = static_cast<unsigned int>(-1);

std::string to_text(const Shape& shape) {
  std::string text;
  for (const unsigned int length : shape)
    text += (text.empty() ? "" : ", ") + (length == kUnknownLength ? "?" : std::to_string(length));
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

MXReturnValue infer_shape(const Attributes& attributes, std::vector<Shape>* in,
                          std::vector<Shape>* out) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  Shape& a = in->at(0);
  Shape& b = in->at(1);
  if (a.size() != 2 || b.size() != 2) {
    MX_ERROR_MSG << "A and B should be matrices, of two dimensions each; their shapes are "
                 << to_text(a) << " and " << to_text(b);
    return MX_FAIL;
  }
  unsigned int& a_columns = a[options.transpose_a ? 0 : 1];
  unsigned int& b_rows = b[options.transpose_b ? 1 : 0];
  if (a_columns == kUnknownLength) a_columns = b_rows;
  if (b_rows == kUnknownLength) b_rows = a_columns;
  if (a_columns != b_rows) {
    MX_ERROR_MSG << "A" << (options.transpose_a ? " (transposed)" : "") << " has " << a_columns
                 << " columns and B" << (options.transpose_b ? " (transposed)" : "") << " has "
                 << b_rows << " rows, which should be as many: the shapes are " << to_text(a)
                 << " and " << to_text(b);
    return MX_FAIL;
  }
  out->at(0) = {a[options.transpose_a ? 1 : 0], b[options.transpose_b ? 0 : 1]};
  if (out->size() > 1) out->at(1) = {1};
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// Forward and backward, for one type of numbers and for whichever arrives

template <typename T>
void multiply_tensors(std::vector<MXTensor>& in, std::vector<MXTensor>& out, Options options) {
  const Matrix<T> x = matrix_of<T>(in[0], options.transpose_a);
  const Matrix<T> y = matrix_of<T>(in[1], options.transpose_b);
  multiply(x, y, out[0].data<T>());
}

// What backward gets: a gradient for each output, then the inputs, then the outputs of forward.
// What it writes: a gradient for each input.
template <typename T>
void differentiate_tensors(std::vector<MXTensor>& in, std::vector<MXTensor>& out, Options options) {
  const size_t outputs = options.count ? 2 : 1;
  const Matrix<T> g = matrix_of<T>(in[0]);
  const Matrix<T> x = matrix_of<T>(in[outputs], options.transpose_a);
  const Matrix<T> y = matrix_of<T>(in[outputs + 1], options.transpose_b);
  if (options.transpose_a)
    multiply(y, g.transposed(), out[0].data<T>());
  else
    multiply(g, y.transposed(), out[0].data<T>());
  if (options.transpose_b)
    multiply(g.transposed(), x, out[1].data<T>());
  else
    multiply(x.transposed(), g, out[1].data<T>());
}

MXReturnValue run_forward(std::vector<MXTensor>& in, std::vector<MXTensor>& out, Options options) {
  if (out[0].dtype == kFloat64)
    multiply_tensors<double>(in, out, options);
  else
    multiply_tensors<float>(in, out, options);
  return MX_SUCCESS;
}

MXReturnValue run_backward(std::vector<MXTensor>& in, std::vector<MXTensor>& out, Options options) {
  if (out[0].dtype == kFloat64)
    differentiate_tensors<double>(in, out, options);
  else
    differentiate_tensors<float>(in, out, options);
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// Without a state: functions

MXReturnValue forward(const Attributes& attributes, std::vector<MXTensor>* inputs,
                      std::vector<MXTensor>* outputs, const OpResource&) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  options.count = false;  // state_gemm's
  return run_forward(*inputs, *outputs, options);
}

MXReturnValue backward(const Attributes& attributes, std::vector<MXTensor>* inputs,
                       std::vector<MXTensor>* outputs, const OpResource&) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  options.count = false;
  return run_backward(*inputs, *outputs, options);
}

// ---------------------------------------------------------------------------------------------
// With a state: an object that is made once, with the attributes, and then called

class StatefulGemm : public CustomStatefulOp {
 public:
  explicit StatefulGemm(Options options) : options_(options), calls_(0) {}

  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                        const OpResource&) {
    ++calls_;
    if (options_.count) *outputs->at(1).data<int64_t>() = calls_;
    return run_forward(*inputs, *outputs, options_);
  }

  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource&) {
    return run_backward(*inputs, *outputs, options_);
  }

 private:
  const Options options_;
  int64_t calls_;
};

MXReturnValue create_state(const Attributes& attributes, const MXContext&,
                           const std::vector<Shape>&, const std::vector<int>,
                           CustomStatefulOp** state) {
  Options options;
  if (!read_options(attributes, &options)) return MX_FAIL;
  *state = CustomStatefulOp::create<StatefulGemm>(options);
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(my_gemm)
    .setForward(forward, "cpu")
    .setBackward(backward, "cpu")
    .setParseAttrs(parse_attributes)
    .setInferType(infer_type)
    .setInferShape(infer_shape);

REGISTER_OP(state_gemm)
    .setParseAttrs(parse_state_attributes)
    .setInferType(infer_type)
    .setInferShape(infer_shape)
    .setCreateOpState(create_state, "cpu");

// Called once, when the library is loaded; the version is 10901 for MXNet 1.9.1.
MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "this library needs MXNet 1.9 or later, and is loaded by version " << version;
  return MX_FAIL;
}
