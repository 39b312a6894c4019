// Operators that use all that a source for MXNet 1.9 may use of the header, and show what they see. They also
// compile with MXNet's own header.
#include <algorithm>
#include <atomic>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<std::vector<unsigned int>> Shapes;

namespace {

std::string option(const Attributes& attributes, const std::string& key, const std::string& otherwise = "") {
  const auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : found->second;
}

int number(const Attributes& attributes, const std::string& key, int otherwise) {
  return std::stoi(option(attributes, key, std::to_string(otherwise)));
}

/// Attribute `in` inputs and `out` outputs.
MXReturnValue parse(const Attributes& attributes, int* num_inputs, int* num_outputs) {
  *num_inputs = number(attributes, "in", 1);
  *num_outputs = number(attributes, "out", 1);
  return MX_SUCCESS;
}

MXReturnValue parse_pair(const Attributes&, int* num_inputs, int* num_outputs) {
  *num_inputs = *num_outputs = 2;
  return MX_SUCCESS;
}

/// All are like the first that is known.
MXReturnValue same_types(const Attributes&, std::vector<int>* in_types, std::vector<int>* out_types) {
  int known = -1;
  for (int type : *in_types) known = known < 0 ? type : known;
  if (known < 0) {
    MX_ERROR_MSG << "no input has a type";
    return MX_FAIL;
  }
  for (int& type : *in_types) type = type < 0 ? known : type;
  std::fill(out_types->begin(), out_types->end(), known);
  return MX_SUCCESS;
}

MXReturnValue same_shapes(const Attributes&, Shapes* in_shapes, Shapes* out_shapes) {
  for (const auto& shape : *in_shapes) {
    if (shape.empty()) continue;
    for (auto& other : *in_shapes) {
      if (other.empty()) other = shape;
    }
    std::fill(out_shapes->begin(), out_shapes->end(), shape);
    return MX_SUCCESS;
  }
  return MX_SUCCESS;
}

// ---- every dtype: twice the input, and what the tensor is ------------------------------------------------

template <class T>
void twice(MXTensor& in, MXTensor& out) {
  for (int64_t i = 0; i < in.size(); ++i) out.data<T>()[i] = static_cast<T>(in.data<T>()[i] * 2);
}

MXReturnValue dtype_forward(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                            const OpResource&) {
  MXTensor& in = inputs->at(0);
  MXTensor& out = outputs->at(0);
  switch (in.dtype) {
    case kFloat32: twice<float>(in, out); break;
    case kFloat64: twice<double>(in, out); break;
    case kFloat16:
      memcpy(out.data<uint16_t>(), in.data<uint16_t>(), static_cast<size_t>(in.size()) * 2);
      break;
    case kUint8: twice<uint8_t>(in, out); break;
    case kInt32: twice<int32_t>(in, out); break;
    case kInt8: twice<int8_t>(in, out); break;
    case kInt64: twice<int64_t>(in, out); break;
    default: MX_ERROR_MSG << "dtype " << in.dtype; return MX_FAIL;
  }
  const MXTensor copy(in);
  const DLTensor& view = copy.dltensor;
  const int64_t seen[] = {in.dtype,
                          static_cast<int64_t>(in.shape.size()),
                          in.size(),
                          view.dtype.code,
                          view.dtype.bits,
                          view.dtype.lanes,
                          view.ndim,
                          view.shape == copy.shape.data(),
                          view.data == in.data_ptr,
                          view.strides == nullptr,
                          static_cast<int64_t>(view.byte_offset),
                          view.ctx.device_type,
                          view.ctx.device_id,
                          in.stype,
                          in.ctx.dev_type == "cpu",
                          in.isSame(copy),
                          in.isSame(out)};
  std::copy(std::begin(seen), std::end(seen), outputs->at(1).data<int64_t>());
  return MX_SUCCESS;
}

MXReturnValue dtype_types(const Attributes&, std::vector<int>* in_types, std::vector<int>* out_types) {
  *out_types = {in_types->at(0), kInt64};
  return MX_SUCCESS;
}

MXReturnValue dtype_shapes(const Attributes&, Shapes* in_shapes, Shapes* out_shapes) {
  *out_shapes = {in_shapes->at(0), {17}};
  return MX_SUCCESS;
}

MXReturnValue dtype_parse(const Attributes&, int* num_inputs, int* num_outputs) {
  *num_inputs = 1;
  *num_outputs = 2;
  return MX_SUCCESS;
}

REGISTER_OP(s_dtype)
    .setForward(dtype_forward, "cpu")
    .setParseAttrs(dtype_parse)
    .setInferType(dtype_types)
    .setInferShape(dtype_shapes);

// ---- product and sum of a pair, with gradients
// -------------------------------------------------------------

MXReturnValue pair_forward(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                           const OpResource&) {
  const float *a = inputs->at(0).data<float>(), *b = inputs->at(1).data<float>();
  float *product = outputs->at(0).data<float>(), *sum = outputs->at(1).data<float>();
  for (int64_t i = 0; i < inputs->at(0).size(); ++i) {
    product[i] = a[i] * b[i];
    sum[i] = a[i] + b[i];
  }
  return MX_SUCCESS;
}

/// inputs: gradients of the product and the sum, a, b, the product, the sum.
MXReturnValue pair_backward(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                            const OpResource&) {
  if (inputs->size() != 6 || outputs->size() != 2) return MX_FAIL;
  const float *d_product = inputs->at(0).data<float>(), *d_sum = inputs->at(1).data<float>();
  const float *a = inputs->at(2).data<float>(), *b = inputs->at(3).data<float>();
  for (int64_t i = 0; i < inputs->at(2).size(); ++i) {
    outputs->at(0).data<float>()[i] = d_product[i] * b[i] + d_sum[i];
    outputs->at(1).data<float>()[i] = d_product[i] * a[i] + d_sum[i];
  }
  return MX_SUCCESS;
}

#define PAIR s_pair
REGISTER_OP(PAIR)
    .setForward(pair_forward, "cpu")
    .setForward(pair_forward, "gpu")
    .setBackward(pair_backward, "cpu")
    .setParseAttrs(parse_pair)
    .setInferType(same_types)
    .setInferShape(same_shapes);

// ---- states
// ------------------------------------------------------------------------------------------------

std::atomic<int> live_states(0);

/// Multiplies by the number of its forward calls, counted from `start`.
class Counter : public CustomStatefulOp {
 public:
  Counter(int start, const std::string& context) : calls_(start), context_(context) { ++live_states; }
  ~Counter() { --live_states; }

  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
    ++calls_;
    return scale(inputs->at(0), outputs->at(0));
  }
  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
    return scale(inputs->at(0), outputs->at(0));
  }

 private:
  MXReturnValue scale(MXTensor& in, MXTensor& out) {
    for (int64_t i = 0; i < in.size(); ++i)
      out.data<float>()[i] = in.data<float>()[i] * static_cast<float>(calls_);
    return MX_SUCCESS;
  }

  int calls_;
  std::string context_;
};

/// Made with new; says how many states there are.
class Living : public CustomStatefulOp {
 public:
  explicit Living(bool quiet) { ignore_warn = quiet; }

  MXReturnValue Forward(std::vector<MXTensor>*, std::vector<MXTensor>* outputs, const OpResource&) {
    outputs->at(0).data<float>()[0] = static_cast<float>(live_states.load());
    outputs->at(0).data<float>()[1] = wasCreated();
    return MX_SUCCESS;
  }
};

MXReturnValue create_counter(const Attributes& attributes, const MXContext& context, const Shapes& in_shapes,
                             const std::vector<int> in_types, CustomStatefulOp** state) {
  if (in_shapes.at(0).empty() || in_types.at(0) != kFloat32) {
    MX_ERROR_MSG << "a counter of dtype " << in_types.at(0) << " and " << in_shapes.at(0).size()
                 << " dimensions";
    return MX_FAIL;
  }
  *state = CustomStatefulOp::create<Counter>(number(attributes, "start", 0), context.dev_type);
  return MX_SUCCESS;
}

MXReturnValue create_living(const Attributes& attributes, const MXContext&, const Shapes&,
                            const std::vector<int>, CustomStatefulOp** state) {
  *state = new Living(option(attributes, "quiet") == "True");
  return MX_SUCCESS;
}

REGISTER_OP(s_counter)
    .setCreateOpState(create_counter, "cpu")
    .setParseAttrs(parse)
    .setInferType(same_types)
    .setInferShape(same_shapes);

REGISTER_OP(s_living)
    .setCreateOpState(create_living, "cpu")
    .setParseAttrs(parse)
    .setInferType(same_types)
    .setInferShape(same_shapes);

// ---- an input that is changed
// ------------------------------------------------------------------------------

MXReturnValue accumulate(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource&) {
  float* total = inputs->at(1).data<float>();
  for (int64_t i = 0; i < inputs->at(0).size(); ++i) {
    outputs->at(0).data<float>()[i] = total[i] += inputs->at(0).data<float>()[i];
  }
  return MX_SUCCESS;
}

MXReturnValue mutate_second(const Attributes&, std::vector<int>* input_indices) {
  input_indices->push_back(1);
  return MX_SUCCESS;
}

MXReturnValue accumulate_parse(const Attributes&, int* num_inputs, int* num_outputs) {
  *num_inputs = 2;
  *num_outputs = 1;
  return MX_SUCCESS;
}

REGISTER_OP(s_accumulate)
    .setForward(accumulate, "cpu")
    .setMutateInputs(mutate_second)
    .setParseAttrs(accumulate_parse)
    .setInferType(same_types)
    .setInferShape(same_shapes);

// ---- resources
// ---------------------------------------------------------------------------------------------

/// The input turned around by way of temporary memory; its last element is a random number.
MXReturnValue use_resources(const Attributes& attributes, std::vector<MXTensor>* inputs,
                            std::vector<MXTensor>* outputs, const OpResource& resource) {
  const int64_t size = inputs->at(0).size();
  const int bytes = number(attributes, "bytes", static_cast<int>(size) * static_cast<int>(sizeof(float)));
  float* scratch = static_cast<float*>(resource.alloc_cpu(bytes));
  if (bytes == 0) return MX_SUCCESS;
  std::reverse_copy(inputs->at(0).data<float>(), inputs->at(0).data<float>() + size, scratch);
  std::copy(scratch, scratch + size, outputs->at(0).data<float>());
  mx_cpu_rand_t* states = resource.get_cpu_rand_states();
  if (states != nullptr) {
    const int which = number(attributes, "state", MX_NUM_CPU_RANDOM_STATES - 1);
    outputs->at(0).data<float>()[size - 1] = static_cast<float>(states[which]() >> 8);
  }
  return resource.get_cuda_stream() == nullptr && resource.get_gpu_rand_states() == nullptr ? MX_SUCCESS
                                                                                            : MX_FAIL;
}

REGISTER_OP(s_resources)
    .setForward(use_resources, "cpu")
    .setParseAttrs(parse)
    .setInferType(same_types)
    .setInferShape(same_shapes);

// ---- sparse arrays: negated
// --------------------------------------------------------------------------------

MXReturnValue negate(const Attributes& attributes, std::vector<MXTensor>* inputs,
                     std::vector<MXTensor>* outputs, const OpResource& resource) {
  const MXSparse* in = inputs->at(0).data<MXSparse>();
  MXSparse* out = outputs->at(0).data<MXSparse>();
  const int index = number(attributes, "index", 0);
  resource.alloc_sparse(out, index, static_cast<int>(in->indices_len), static_cast<int>(in->indptr_len));
  const float* values = static_cast<const float*>(in->data);
  for (int64_t i = 0; i < in->data_len; ++i) static_cast<float*>(out->data)[i] = -values[i];
  std::copy(in->indices, in->indices + in->indices_len, out->indices);
  if (in->indptr_len > 0) std::copy(in->indptr, in->indptr + in->indptr_len, out->indptr);
  return MX_SUCCESS;
}

MXReturnValue same_storage(const Attributes&, std::vector<int>* in_storage, std::vector<int>* out_storage) {
  if (in_storage->at(0) == kDefaultStorage) {
    MX_ERROR_MSG << "expected a sparse input";
    return MX_FAIL;
  }
  std::fill(out_storage->begin(), out_storage->end(), in_storage->at(0));
  return MX_SUCCESS;
}

REGISTER_OP(s_negate)
    .setForward(negate, "cpu")
    .setInferSType(same_storage)
    .setParseAttrs(parse)
    .setInferType(same_types)
    .setInferShape(same_shapes);

// ---- attributes: those of a call, sorted, as the bytes of a text
// -------------------------------------------

std::string listed(const Attributes& attributes) {
  const std::map<std::string, std::string> sorted(attributes.begin(), attributes.end());
  std::ostringstream text;
  for (const auto& attribute : sorted) text << attribute.first << "=" << attribute.second << ";";
  return text.str();
}

MXReturnValue list_attributes(const Attributes& attributes, std::vector<MXTensor>*,
                              std::vector<MXTensor>* outputs, const OpResource&) {
  const std::string text = listed(attributes);
  std::copy(text.begin(), text.end(), outputs->at(0).data<uint8_t>());
  return MX_SUCCESS;
}

MXReturnValue list_types(const Attributes&, std::vector<int>*, std::vector<int>* out_types) {
  out_types->at(0) = kUint8;
  return MX_SUCCESS;
}

MXReturnValue list_shapes(const Attributes& attributes, Shapes*, Shapes* out_shapes) {
  out_shapes->at(0) = {static_cast<unsigned int>(listed(attributes).size())};
  return MX_SUCCESS;
}

REGISTER_OP(s_attributes)
    .setForward(list_attributes, "cpu")
    .setParseAttrs(parse)
    .setInferType(list_types)
    .setInferShape(list_shapes);

// ---- failures: attribute `where` says in which function, `how` in which way -------------------------------

MXReturnValue fail_if(const Attributes& attributes, const char* where) {
  if (option(attributes, "where") != where) return MX_SUCCESS;
  const std::string how = option(attributes, "how");
  if (how == "throw") throw std::runtime_error(std::string("thrown in ") + where);
  if (how == "throw number") throw 7;
  if (how == "at") std::vector<int>().at(3);
  if (how == "message") MX_ERROR_MSG << "refused in " << where;
  return MX_FAIL;
}

MXReturnValue fail_forward(const Attributes& attributes, std::vector<MXTensor>*, std::vector<MXTensor>*,
                           const OpResource&) {
  return fail_if(attributes, "forward");
}
MXReturnValue fail_parse(const Attributes& attributes, int* num_inputs, int* num_outputs) {
  *num_inputs = *num_outputs = 1;
  return fail_if(attributes, "parse");
}
MXReturnValue fail_types(const Attributes& attributes, std::vector<int>* in_types,
                         std::vector<int>* out_types) {
  *out_types = *in_types;
  return fail_if(attributes, "type");
}
MXReturnValue fail_storage(const Attributes& attributes, std::vector<int>* in_types,
                           std::vector<int>* out_types) {
  *out_types = *in_types;
  return fail_if(attributes, "storage");
}
MXReturnValue fail_shapes(const Attributes& attributes, Shapes* in_shapes, Shapes* out_shapes) {
  *out_shapes = *in_shapes;
  return fail_if(attributes, "shape");
}
MXReturnValue fail_mutate(const Attributes& attributes, std::vector<int>*) {
  return fail_if(attributes, "mutate");
}

class Failing : public CustomStatefulOp {
 public:
  explicit Failing(Attributes& attributes) : attributes_(attributes) {
    if (fail_if(attributes, "constructor") != MX_SUCCESS) throw std::invalid_argument("constructor");
  }
  MXReturnValue Forward(std::vector<MXTensor>*, std::vector<MXTensor>*, const OpResource&) {
    return fail_if(attributes_, "forward");
  }

 private:
  Attributes attributes_;
};

MXReturnValue fail_create(const Attributes& attributes, const MXContext&, const Shapes&,
                          const std::vector<int>, CustomStatefulOp** state) {
  if (option(attributes, "where") == "nothing made") return MX_SUCCESS;
  if (fail_if(attributes, "create") != MX_SUCCESS) return MX_FAIL;
  *state = CustomStatefulOp::create<Failing>(attributes);
  return MX_SUCCESS;
}

REGISTER_OP(s_fail)
    .setForward(fail_forward, "cpu")
    .setBackward(fail_forward, "cpu")
    .setParseAttrs(fail_parse)
    .setInferType(fail_types)
    .setInferSType(fail_storage)
    .setInferShape(fail_shapes)
    .setMutateInputs(fail_mutate);

REGISTER_OP(s_fail_state)
    .setCreateOpState(fail_create, "cpu")
    .setParseAttrs(fail_parse)
    .setInferType(fail_types)
    .setInferShape(fail_shapes);

}  // namespace

MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "MXNet " << version << " is too old";
  return MX_FAIL;
}
