// Registrations that are wrong, each of which MXNet's header would end the process for, or be silent about.
#include "lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;

static MXReturnValue forward(const Attributes&, std::vector<MXTensor>*, std::vector<MXTensor>*,
                             const OpResource&) {
  return MX_SUCCESS;
}
static MXReturnValue parse(const Attributes&, int* in, int* out) {
  *in = *out = 1;
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
static MXReturnValue supported(const Graph*, std::vector<int>*, const Attributes&) { return MX_SUCCESS; }

static const char context[] = "cpu";  // the same text at another address

REGISTER_OP(r_twice)
    .setForward(forward, "cpu")
    .setForward(forward, context)
    .setParseAttrs(parse)
    .setInferType(types)
    .setInferShape(shapes);
REGISTER_OP(r_null)
    .setForward(forward, "cpu")
    .setBackward(nullptr, "gpu")
    .setParseAttrs(parse)
    .setInferType(types)
    .setInferShape(shapes);
REGISTER_PARTITIONER(r_unknown)
    .addStrategy("known", "r_twice")
    .addStrategy("nothing", nullptr)
    .addStrategy(nullptr, "r_twice")
    .setReviewSubgraph(nullptr, nullptr)
    .setSupportedOps("known", supported)
    .setSupportedOps("knwon", supported);
REGISTER_PASS(r_empty);

MXReturnValue initialize(int version) {
  if (version < 10900) throw std::runtime_error("made for 1.9, not for " + std::to_string(version));
  return MX_SUCCESS;
}
