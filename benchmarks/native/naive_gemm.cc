// The product of two matrices of float32 in the order of its definition: the inner loop goes down a column.
#include "lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<std::vector<unsigned int> > Shapes;

static MXReturnValue parse(const Attributes&, int* num_in, int* num_out) {
    *num_in = 2;
    *num_out = 1;
    return MX_SUCCESS;
}

static MXReturnValue inferType(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
    if (in->at(0) != kFloat32 || in->at(1) != kFloat32) {
        MX_ERROR_MSG << "needs two matrices of float32";
        return MX_FAIL;
    }
    out->at(0) = kFloat32;
    return MX_SUCCESS;
}

static MXReturnValue inferShape(const Attributes&, Shapes* in, Shapes* out) {
    const std::vector<unsigned int>&a = in->at(0), &b = in->at(1);
    if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) {
        MX_ERROR_MSG << "needs matrices of (n, k) and (k, m)";
        return MX_FAIL;
    }
    out->at(0) = {a[0], b[1]};
    return MX_SUCCESS;
}

static MXReturnValue naive(const Attributes&, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                           const OpResource&) {
    const float *a = in->at(0).data<float>(), *b = in->at(1).data<float>();
    float* c = out->at(0).data<float>();
    const int64_t n = in->at(0).shape[0], k = in->at(0).shape[1], m = in->at(1).shape[1];
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) {
            float total = 0;
            for (int64_t l = 0; l < k; ++l) total += a[i * k + l] * b[l * m + j];
            c[i * m + j] = total;
        }
    return MX_SUCCESS;
}

REGISTER_OP(benchmark_naive_gemm)
    .setForward(naive, "cpu")
    .setParseAttrs(parse)
    .setInferType(inferType)
    .setInferShape(inferShape);

MXReturnValue initialize(int version) {
    if (version >= 10700) return MX_SUCCESS;
    MX_ERROR_MSG << "needs MXNet 1.7 or later";
    return MX_FAIL;
}
