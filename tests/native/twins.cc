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

#define NAME MX_STR_CONCAT(twin_, NUMBER)
REGISTER_OP(NAME)
    .setCreateOpState(create, "cpu")
    .setParseAttrs(parse)
    .setInferType(types)
    .setInferShape(shapes);
#define FLOAT MX_STR_CONCAT(float_, NUMBER)
REGISTER_OP(FLOAT).setForward(forward, "cpu").setParseAttrs(parse).setInferType(types).setInferShape(shapes);

MXReturnValue initialize(int) { return MX_SUCCESS; }
