// Operators written against MXNet's own header, in the style of the version that it is of: 1.7 (ABI 7), 1.8 (10) or
// 1.9 (11). `real_headers.py` builds it; minpy's header takes it as well.
#ifdef OLD_INCLUDE
#include "lib_api.h"
#else
#include "mxnet/lib_api.h"
#endif

#include <cmath>

#if MX_LIBRARY_VERSION >= 8
using namespace mxnet::ext;
#define FAIL(text)                                                                                                    \
    do {                                                                                                              \
        MX_ERROR_MSG << text;                                                                                         \
        return MX_FAIL;                                                                                               \
    } while (false)
#else
#define FAIL(text)                    \
    do {                              \
        std::cout << text << "\n";    \
        return MX_FAIL;               \
    } while (false)
#endif

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<std::vector<unsigned int> > Shapes;

static std::string attribute(const Attributes& attributes, const char* key, const char* otherwise) {
    Attributes::const_iterator found = attributes.find(key);
    return found == attributes.end() ? otherwise : found->second;
}

static double number(const Attributes& attributes, const char* key, double otherwise) {
    Attributes::const_iterator found = attributes.find(key);
    return found == attributes.end() ? otherwise : std::stod(found->second);
}

static MXReturnValue sameType(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
    for (size_t i = 0; i < in->size(); ++i) {
        if ((*in)[i] != (*in)[0]) FAIL("input " << i << " has another dtype than the first");
        if ((*in)[i] != kFloat32 && (*in)[i] != kFloat64) FAIL("needs float32 or float64, got " << (*in)[i]);
    }
    for (size_t i = 0; i < out->size(); ++i) (*out)[i] = (*in)[0];
    return MX_SUCCESS;
}

static MXReturnValue sameShape(const Attributes&, Shapes* in, Shapes* out) {
    for (size_t i = 1; i < in->size(); ++i)
        if ((*in)[i] != (*in)[0]) FAIL("input " << i << " has another shape than the first");
    for (size_t i = 0; i < out->size(); ++i) (*out)[i] = (*in)[0];
    return MX_SUCCESS;
}

static MXReturnValue oneToOne(const Attributes&, int* in, int* out) {
    *in = *out = 1;
    return MX_SUCCESS;
}

static MXReturnValue twoToTwo(const Attributes&, int* in, int* out) {
    *in = *out = 2;
    return MX_SUCCESS;
}

static MXReturnValue twoToOne(const Attributes&, int* in, int* out) {
    *in = 2;
    *out = 1;
    return MX_SUCCESS;
}

// -- a product of matrices, with workspace ---------------------------------------------------------------------------

template <class T>
static void multiply(const T* a, const T* b, T* c, int64_t n, int64_t k, int64_t m) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) {
            T total = 0;
            for (int64_t l = 0; l < k; ++l) total += a[i * k + l] * b[l * m + j];
            c[i * m + j] = total;
        }
}

template <class T>
static void turn(const T* a, T* turned, int64_t n, int64_t m) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) turned[j * n + i] = a[i * m + j];
}

template <class T>
static MXReturnValue gemm(std::vector<MXTensor>& in, std::vector<MXTensor>& out) {
    multiply(in[0].data<T>(), in[1].data<T>(), out[0].data<T>(), in[0].shape[0], in[0].shape[1], in[1].shape[1]);
    return MX_SUCCESS;
}

template <class T>
static MXReturnValue gemmGradient(std::vector<MXTensor>& in, std::vector<MXTensor>& out, const OpResource& resource) {
    const int64_t n = in[1].shape[0], k = in[1].shape[1], m = in[2].shape[1];
    T* space = static_cast<T*>(resource.alloc_cpu(static_cast<int>((n * k + k * m) * sizeof(T))));
    T *left = space, *right = space + n * k;
    turn(in[1].data<T>(), left, n, k);
    turn(in[2].data<T>(), right, k, m);
    multiply(in[0].data<T>(), right, out[0].data<T>(), n, m, k);
    multiply(left, in[0].data<T>(), out[1].data<T>(), k, n, m);
    return MX_SUCCESS;
}

static MXReturnValue gemmForward(const Attributes&, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                 const OpResource&) {
    return (*in)[0].dtype == kFloat32 ? gemm<float>(*in, *out) : gemm<double>(*in, *out);
}

static MXReturnValue gemmBackward(const Attributes&, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                  const OpResource& resource) {
    return (*in)[0].dtype == kFloat32 ? gemmGradient<float>(*in, *out, resource)
                                      : gemmGradient<double>(*in, *out, resource);
}

static MXReturnValue gemmShape(const Attributes&, Shapes* in, Shapes* out) {
    if ((*in)[0].size() != 2 || (*in)[1].size() != 2) FAIL("needs two matrices");
    if ((*in)[0][1] != (*in)[1][0]) FAIL("needs inner lengths that are equal");
    (*out)[0].clear();
    (*out)[0].push_back((*in)[0][0]);
    (*out)[0].push_back((*in)[1][1]);
    return MX_SUCCESS;
}

REGISTER_OP(real_gemm)
    .setForward(gemmForward, "cpu")
    .setBackward(gemmBackward, "cpu")
    .setParseAttrs(twoToOne)
    .setInferType(sameType)
    .setInferShape(gemmShape);

// -- two outputs, attributes, a check in the gradient ----------------------------------------------------------------

static MXReturnValue pairForward(const Attributes& attributes, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                 const OpResource&) {
    const float *x = (*in)[0].data<float>(), *y = (*in)[1].data<float>();
    const float scale = static_cast<float>(number(attributes, "scale", 1));
    for (int64_t i = 0; i < (*in)[0].size(); ++i) {
        (*out)[0].data<float>()[i] = scale * x[i] * y[i];
        (*out)[1].data<float>()[i] = x[i] + 2 * y[i];
    }
    return MX_SUCCESS;
}

static MXReturnValue pairBackward(const Attributes& attributes, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                  const OpResource&) {
    if (in->size() != 6 || out->size() != 2) FAIL("a gradient of " << in->size() << " inputs");
    const float scale = static_cast<float>(number(attributes, "scale", 1));
    const float *first = (*in)[0].data<float>(), *second = (*in)[1].data<float>();
    const float *x = (*in)[2].data<float>(), *y = (*in)[3].data<float>();
    const float *product = (*in)[4].data<float>(), *sum = (*in)[5].data<float>();
    for (int64_t i = 0; i < (*in)[0].size(); ++i) {
        if (std::fabs(product[i] - scale * x[i] * y[i]) > 1e-4 || std::fabs(sum[i] - x[i] - 2 * y[i]) > 1e-4)
            FAIL("the outputs are not those of the inputs");
        (*out)[0].data<float>()[i] = first[i] * scale * y[i] + second[i];
        (*out)[1].data<float>()[i] = first[i] * scale * x[i] + 2 * second[i];
    }
    return MX_SUCCESS;
}

REGISTER_OP(real_pair)
    .setForward(pairForward, "cpu")
    .setBackward(pairBackward, "cpu")
    .setParseAttrs(twoToTwo)
    .setInferType(sameType)
    .setInferShape(sameShape);

// -- an input that changes -------------------------------------------------------------------------------------------

static MXReturnValue mutateSecond(const Attributes&, std::vector<int>* indices) {
    indices->push_back(1);
    return MX_SUCCESS;
}

static MXReturnValue totalForward(const Attributes&, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                  const OpResource&) {
    const float* x = (*in)[0].data<float>();
    float* total = (*in)[1].data<float>();
    for (int64_t i = 0; i < (*in)[0].size(); ++i) {
        total[i] += x[i];
        (*out)[0].data<float>()[i] = total[i];
    }
    return MX_SUCCESS;
}

REGISTER_OP(real_total)
    .setForward(totalForward, "cpu")
    .setParseAttrs(twoToOne)
    .setInferType(sameType)
    .setInferShape(sameShape)
    .setMutateInputs(mutateSecond);

// -- a state ---------------------------------------------------------------------------------------------------------

class Counter : public CustomStatefulOp {
 public:
    explicit Counter(double scale) : scale_(scale), calls_(0) {}

    MXReturnValue Forward(std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
        ++calls_;
        for (int64_t i = 0; i < (*in)[0].size(); ++i)
            (*out)[0].data<float>()[i] = static_cast<float>(scale_ * calls_) * (*in)[0].data<float>()[i];
        return MX_SUCCESS;
    }

    MXReturnValue Backward(std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource&) {
        for (int64_t i = 0; i < (*in)[0].size(); ++i)
            (*out)[0].data<float>()[i] = static_cast<float>(scale_ * calls_) * (*in)[0].data<float>()[i];
        return MX_SUCCESS;
    }

 private:
    double scale_;
    int calls_;
};

#if MX_LIBRARY_VERSION >= 11
static MXReturnValue makeCounter(const Attributes& attributes, const MXContext&, const Shapes&, const std::vector<int>,
                                 CustomStatefulOp** made) {
    *made = CustomStatefulOp::create<Counter>(number(attributes, "scale", 1));
    return MX_SUCCESS;
}
#elif MX_LIBRARY_VERSION >= 10
static MXReturnValue makeCounter(const Attributes& attributes, const MXContext&, const Shapes&, const std::vector<int>,
                                 CustomStatefulOp** made) {
    *made = new Counter(number(attributes, "scale", 1));
    return MX_SUCCESS;
}
#else
static MXReturnValue makeCounter(const Attributes& attributes, CustomStatefulOp** made) {
    *made = new Counter(number(attributes, "scale", 1));
    return MX_SUCCESS;
}
#endif

REGISTER_OP(real_counter)
    .setParseAttrs(oneToOne)
    .setInferType(sameType)
    .setInferShape(sameShape)
    .setCreateOpState(makeCounter, "cpu");

// -- random numbers: as many draws of state `state` as x has elements -------------------------------------------------

static MXReturnValue drawForward(const Attributes& attributes, std::vector<MXTensor>* in, std::vector<MXTensor>* out,
                                 const OpResource& resource) {
    mx_cpu_rand_t* states = resource.get_cpu_rand_states();
    std::uniform_real_distribution<double> uniform(0, 1);
    const int state = static_cast<int>(number(attributes, "state", 0));
    for (int64_t i = 0; i < (*in)[0].size(); ++i)
        (*out)[0].data<float>()[i] = static_cast<float>(uniform(states[state]));
    return MX_SUCCESS;
}

REGISTER_OP(real_draw)
    .setForward(drawForward, "cpu")
    .setParseAttrs(oneToOne)
    .setInferType(sameType)
    .setInferShape(sameShape);

// -- failures --------------------------------------------------------------------------------------------------------

static MXReturnValue failForward(const Attributes& attributes, std::vector<MXTensor>*, std::vector<MXTensor>*,
                                 const OpResource&) {
    FAIL("fails because of " << attribute(attributes, "reason", "nothing"));
}

REGISTER_OP(real_fail)
    .setForward(failForward, "cpu")
    .setParseAttrs(oneToOne)
    .setInferType(sameType)
    .setInferShape(sameShape);

MXReturnValue initialize(int version) {
    if (version < 10700) FAIL("needs MXNet 1.7 or later, this is " << version);
    return MX_SUCCESS;
}
