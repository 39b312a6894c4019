// Two libraries of this source, with different numbers, have classes and operators of the same names.
#include "lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;

/// Not in an anonymous namespace: both libraries have a vtable of this name.
class Twin : public CustomStatefulOp {
 public:
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
    outputs->at(0).data<float>()[0] = inputs->at(0).data<float>()[0] + NUMBER;
    return MX_SUCCESS;
  }
};

static MXReturnValue parse(const Attributes&, int* in, int* out) {
  *in = *out = 1;
  MX_ERROR_MSG << "library " << NUMBER;
  return MX_SUCCESS;
}
static MXReturnValue types(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  *out = *in;
  return MX_SUCCESS;
}
static MXReturnValue shapes(const Attributes&, std::vector<std::vector<unsigned int>>* in,
                            std::vector<std::vector<unsigned int>>* out) {
  *out = *in;
  return MX_SUCCESS;
}
static MXReturnValue create(const Attributes&, const MXContext&,
                            const std::vector<std::vector<unsigned int>>&, const std::vector<int>,
                            CustomStatefulOp** state) {
  *state = CustomStatefulOp::create<Twin>();
  return MX_SUCCESS;
}
/// The wrong type of pointer for all dtypes but float32.
static MXReturnValue forward(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                             const OpResource&) {
  outputs->at(0).data<float>()[0] = inputs->at(0).data<float>()[0];
  return MX_SUCCESS;
}

/// Leaves its outputs in the way that attribute `how` says.
static MXReturnValue wrong(const Attributes& attributes, std::vector<MXTensor>* inputs,
                           std::vector<MXTensor>* outputs, const OpResource& resource) {
  const std::string& how = attributes.at("how");
  MXTensor& out = outputs->at(0);
  memcpy(out.data<float>(), inputs->at(0).data<float>(), static_cast<size_t>(out.size()) * sizeof(float));
  if (how == "assign") out = inputs->at(0);
  if (how == "clear") outputs->clear();
  if (how == "resize") outputs->resize(3);
  if (how == "null") out = MXTensor();
  if (how == "reshape") out.shape = {1, out.size()};
  if (how == "range") outputs->at(1).data<float>()[0] = 0;
  if (how == "huge") resource.alloc_cpu((static_cast<int64_t>(1) << 32) + 8);
  if (how == "itself") {
    // Of its own shape, the last dimension alone: what it is set to must not be overwritten while it is read.
    out.shape = {1, 2, 3, out.size()};
    out.setTensor(out.data_ptr, out.dtype, out.shape.data() + 3, 1, 0, out.ctx, out.stype);
    return out.shape == inputs->at(0).shape && out.dltensor.shape == out.shape.data() ? MX_SUCCESS : MX_FAIL;
  }
  return MX_SUCCESS;
}

#define NAME MX_STR_CONCAT(twin_, NUMBER)
REGISTER_OP(NAME)
    .setCreateOpState(create, "cpu")
    .setParseAttrs(parse)
    .setInferType(types)
    .setInferShape(shapes);
#define FLOAT MX_STR_CONCAT(float_, NUMBER)
REGISTER_OP(FLOAT).setForward(forward, "cpu").setParseAttrs(parse).setInferType(types).setInferShape(shapes);
#define WRONG MX_STR_CONCAT(wrong_, NUMBER)
REGISTER_OP(WRONG).setForward(wrong, "cpu").setParseAttrs(parse).setInferType(types).setInferShape(shapes);

#if NUMBER != 3  // the third forgot it
MXReturnValue initialize(int) { return MX_SUCCESS; }
#endif
