/* Operators of every kind that a library may have, each of which looks closely at what it is given. */
#include "raw.h"

/* -- what several share -------------------------------------------------------------------------------------------- */

static int one_to_one(const Attributes* a, int* num_in, int* num_out) {
    (void)a;
    *num_in = *num_out = 1;
    return SUCCESS;
}

static int two_to_one(const Attributes* a, int* num_in, int* num_out) {
    (void)a;
    *num_in = 2;
    *num_out = 1;
    return SUCCESS;
}

static int two_to_two(const Attributes* a, int* num_in, int* num_out) {
    (void)a;
    *num_in = *num_out = 2;
    return SUCCESS;
}

static bool same_shape(const Shape* one, const Shape* other) {
    return one->ndim == other->ndim && !memcmp(one->dims, other->dims, one->ndim * sizeof(unsigned int));
}

/* All inputs and outputs have the first input's shape that is known: so unknown inputs are filled in. */
static int shape_of_first(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a;
    int known = 0;
    while (known < num_in - 1 && in[known].ndim == 0) ++known;
    for (int i = 0; i < num_in; ++i) {
        if (in[i].ndim == 0) in[i] = in[known];
        if (!same_shape(&in[i], &in[known])) REFUSE("input %d does not have the shape of input %d", i, known);
    }
    for (int i = 0; i < num_out; ++i) out[i] = in[known];
    return SUCCESS;
}

static int type_of_first(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a;
    int known = 0;
    while (known < num_in - 1 && in[known] == -1) ++known;
    for (int i = 0; i < num_in; ++i) {
        if (in[i] == -1) in[i] = in[known];
        if (in[i] != in[known]) REFUSE("input %d has dtype %d, input %d has %d", i, in[i], known, in[known]);
    }
    for (int i = 0; i < num_out; ++i) out[i] = in[known];
    return SUCCESS;
}

static int vector_of(Shape* out, unsigned int length) {
    out->ndim = 1;
    out->dims[0] = length;
    return SUCCESS;
}

/* Whether a call of a gradient has gradients, inputs, outputs in this order, and gives all inputs' gradients. */
static bool is_gradient_of(const Call* call, int num_in, int num_out) {
    return call->num_in == num_in + 2 * num_out && call->num_out == num_in;
}

#define NEEDS_GRADIENT_OF(num_in_, num_out_)                                                                  \
    if (!is_gradient_of(call, num_in_, num_out_))                                                             \
    REFUSE("a gradient of %d inputs and %d outputs got %d and %d", num_in_, num_out_, call->num_in, call->num_out)

/* -- stateless ----------------------------------------------------------------------------------------------------- */

/* scale * x + shift */
static int affine(Call* call) {
    double scale = number(&call->attributes, "scale", 1), shift = number(&call->attributes, "shift", 0);
    for (int64_t i = size_of(call->in); i-- > 0;) put(call->out, i, scale * get(call->in, i) + shift);
    return SUCCESS;
}

static int affine_gradient(Call* call) {
    NEEDS_GRADIENT_OF(1, 1);
    double scale = number(&call->attributes, "scale", 1);
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, scale * get(call->in, i));
    return SUCCESS;
}

/* (x * y, x + 2 y); the gradient looks whether it gets what the forward call got and gave. */
static int pair(Call* call) {
    for (int64_t i = size_of(call->in); i-- > 0;) {
        double x = get(&call->in[0], i), y = get(&call->in[1], i);
        put(&call->out[0], i, x * y);
        put(&call->out[1], i, x + 2 * y);
    }
    return SUCCESS;
}

static int pair_gradient(Call* call) {
    NEEDS_GRADIENT_OF(2, 2);
    for (int64_t i = size_of(call->out); i-- > 0;) {
        double first = get(&call->in[0], i), second = get(&call->in[1], i);
        double x = get(&call->in[2], i), y = get(&call->in[3], i);
        double product = get(&call->in[4], i), sum = get(&call->in[5], i);
        if (fabs(product - x * y) > 1e-3 * (1 + fabs(product)) || fabs(sum - x - 2 * y) > 1e-3 * (1 + fabs(sum)))
            REFUSE("inputs %g and %g do not belong to outputs %g and %g", x, y, product, sum);
        put(&call->out[0], i, first * y + second);
        put(&call->out[1], i, first * x + 2 * second);
    }
    return SUCCESS;
}

/* x cut into `parts` along its first axis. */
static int parse_parts(const Attributes* a, int* num_in, int* num_out) {
    const char* parts = attribute(a, "parts", NULL);
    if (!parts) REFUSE("the attribute 'parts' is missing");
    *num_in = 1;
    *num_out = atoi(parts);
    if (*num_out < 1) REFUSE("parts must be at least 1, got %s", parts);
    return SUCCESS;
}

static int shape_parts(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)num_in;
    if (in->ndim == 0) REFUSE("needs at least one axis");
    if (in->dims[0] % num_out) REFUSE("%u rows cannot be cut into %d parts", in->dims[0], num_out);
    for (int i = 0; i < num_out; ++i) {
        out[i] = *in;
        out[i].dims[0] /= num_out;
    }
    return SUCCESS;
}

static int cut(Call* call) {
    size_t bytes = size_of(call->out) * width_of(call->in->dtype);
    for (int i = 0; i < call->num_out && bytes; ++i) memcpy(call->out[i].data, (char*)call->in->data + i * bytes, bytes);
    return SUCCESS;
}

static int cut_gradient(Call* call) {
    int parts = (call->num_in - 1) / 2;
    NEEDS_GRADIENT_OF(1, parts);
    size_t bytes = size_of(call->in) * width_of(call->in->dtype);
    for (int i = 0; i < parts && bytes; ++i) memcpy((char*)call->out->data + i * bytes, call->in[i].data, bytes);
    return SUCCESS;
}

/* The sum of `count` inputs. */
static int parse_count(const Attributes* a, int* num_in, int* num_out) {
    *num_in = (int)number(a, "count", 2);
    *num_out = 1;
    return SUCCESS;
}

static int sum(Call* call) {
    for (int64_t i = size_of(call->out); i-- > 0;) {
        double total = 0;
        for (int k = 0; k < call->num_in; ++k) total += get(&call->in[k], i);
        put(call->out, i, total);
    }
    return SUCCESS;
}

static int sum_gradient(Call* call) {
    for (int k = 0; k < call->num_out; ++k)
        for (int64_t i = size_of(call->in); i-- > 0;) put(&call->out[k], i, get(call->in, i));
    return SUCCESS;
}

/* x in another dtype: `dtype` is the ABI's number. */
static int type_asked_for(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)in, (void)num_in, (void)num_out;
    *out = (int)number(a, "dtype", FLOAT32);
    return SUCCESS;
}

static int cast(Call* call) {
    for (int64_t i = size_of(call->in); i-- > 0;) put(call->out, i, get(call->in, i));
    return SUCCESS;
}

/* Bytes as they are, in every dtype. */
static int copy(Call* call) {
    size_t bytes = size_of(call->in) * width_of(call->in->dtype);
    if (bytes) memcpy(call->out->data, call->in->data, bytes);
    return SUCCESS;
}

/* Rows of a table by integers; integers have a gradient of their own dtype, which nobody asks for. */
static int shape_rows(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)num_in, (void)num_out;
    if (in[0].ndim != 2 || in[1].ndim != 1) REFUSE("needs a table (2-D) and indices (1-D), got %d-D and %d-D", in[0].ndim, in[1].ndim);
    out->ndim = 2;
    out->dims[0] = in[1].dims[0];
    out->dims[1] = in[0].dims[1];
    return SUCCESS;
}

static int type_rows(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)num_in, (void)num_out;
    if (in[1] != INT32 && in[1] != INT64) REFUSE("indices must be int32 (4) or int64 (6), got dtype %d", in[1]);
    *out = in[0];
    return SUCCESS;
}

static int rows(Call* call) {
    int64_t width = call->in[0].shape[1], height = call->in[0].shape[0];
    for (int64_t i = 0; i < call->in[1].shape[0]; ++i) {
        int64_t row = (int64_t)get(&call->in[1], i);
        if (row < 0 || row >= height) REFUSE("row %lld of %lld", (long long)row, (long long)height);
        for (int64_t k = 0; k < width; ++k) put(call->out, i * width + k, get(call->in, row * width + k));
    }
    return SUCCESS;
}

static int rows_gradient(Call* call) {
    NEEDS_GRADIENT_OF(2, 1);
    if (call->out[1].dtype != call->in[2].dtype) REFUSE("the gradient of integers has dtype %d", call->out[1].dtype);
    int64_t width = call->out[0].shape[1];
    for (int64_t i = size_of(&call->out[0]); i-- > 0;) put(&call->out[0], i, 0);
    for (int64_t i = 0; i < call->in[2].shape[0]; ++i)
        for (int64_t k = 0; k < width; ++k) {
            int64_t at = (int64_t)get(&call->in[2], i) * width + k;
            put(&call->out[0], at, get(&call->out[0], at) + get(call->in, i * width + k));
        }
    for (int64_t i = size_of(&call->out[1]); i-- > 0;) put(&call->out[1], i, 99);
    return SUCCESS;
}

/* The position of the largest element: an integer, without axes. */
static int shape_scalar(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    out->ndim = 0;
    return SUCCESS;
}

static int type_position(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    *out = INT64;
    return SUCCESS;
}

static int largest(Call* call) {
    int64_t best = 0;
    for (int64_t i = size_of(call->in); i-- > 0;)
        if (get(call->in, i) >= get(call->in, best)) best = i;
    put(call->out, 0, (double)best);
    return SUCCESS;
}

static int no_gradient(Call* call) {
    for (int k = 0; k < call->num_out; ++k)
        for (int64_t i = size_of(&call->out[k]); i-- > 0;) put(&call->out[k], i, 0);
    return SUCCESS;
}

/* data (n, m) and a weight (`hidden`, m) whose shape it fills in, as its dtype: data @ weight.T */
static int shape_dense(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)num_in, (void)num_out;
    unsigned int hidden = (unsigned int)number(a, "hidden", 1);
    if (in[0].ndim != 2) REFUSE("data must be 2-D, got %d-D", in[0].ndim);
    in[1].ndim = 2;
    in[1].dims[0] = hidden;
    in[1].dims[1] = in[0].dims[1];
    out->ndim = 2;
    out->dims[0] = in[0].dims[0];
    out->dims[1] = hidden;
    return SUCCESS;
}

static int dense(Call* call) {
    int64_t n = call->in[0].shape[0], m = call->in[0].shape[1], hidden = call->in[1].shape[0];
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < hidden; ++j) {
            double total = 0;
            for (int64_t k = 0; k < m; ++k) total += get(&call->in[0], i * m + k) * get(&call->in[1], j * m + k);
            put(call->out, i * hidden + j, total);
        }
    return SUCCESS;
}

static int dense_gradient(Call* call) {
    NEEDS_GRADIENT_OF(2, 1);
    const Tensor *above = &call->in[0], *data = &call->in[1], *weight = &call->in[2];
    int64_t n = data->shape[0], m = data->shape[1], hidden = weight->shape[0];
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < m; ++k) {
            double total = 0;
            for (int64_t j = 0; j < hidden; ++j) total += get(above, i * hidden + j) * get(weight, j * m + k);
            put(&call->out[0], i * m + k, total);
        }
    for (int64_t j = 0; j < hidden; ++j)
        for (int64_t k = 0; k < m; ++k) {
            double total = 0;
            for (int64_t i = 0; i < n; ++i) total += get(above, i * hidden + j) * get(data, i * m + k);
            put(&call->out[1], j * m + k, total);
        }
    return SUCCESS;
}

/* -- what is asked of the host ------------------------------------------------------------------------------------- */

/* The sum of the indices of x twice over, through two blocks of the host's memory that are filled before either is read:
 * a host may give one block twice, as MXNet does, only where the second request asks for no more than is there. */
static int workspace(Call* call) {
    int bytes = (int)number(&call->attributes, "bytes", 64);
    int times = (int)number(&call->attributes, "times", 1);
    for (int k = 0; k < times; ++k) {
        unsigned char* block = call->malloc(call->malloc_handle, bytes);
        if (!block && bytes > 0) REFUSE("no memory for %d bytes", bytes);
        if (bytes < 0) {
            if (block) REFUSE("memory for %d bytes", bytes);
            REFUSE("cannot work in %d bytes", bytes);
        }
        if ((uintptr_t)block % 16) REFUSE("memory that is not aligned to 16 bytes");
        for (int i = 0; i < bytes; ++i) block[i] = (unsigned char)(i * 7 + k);
        for (int i = 0; i < bytes; ++i)
            if (block[i] != (unsigned char)(i * 7 + k)) REFUSE("byte %d of the workspace has changed", i);
    }
    return copy(call);
}

static int workspace_gradient(Call* call) {
    NEEDS_GRADIENT_OF(1, 1);
    size_t bytes = size_of(call->out) * width_of(call->out->dtype);
    void* block = call->malloc(call->malloc_handle, (int)bytes);
    if (bytes) {
        memcpy(block, call->in->data, bytes);
        memcpy(call->out->data, block, bytes);
    }
    return SUCCESS;
}

/* `count` numbers of 32 bits, drawn from random state `state`: a std::mt19937 as libstdc++ lays it out. */
typedef struct {
    uint64_t words[624];
    uint64_t position;
} Twister;

static uint32_t draw(Twister* twister) {
    uint64_t* x = twister->words;
    if (twister->position >= 624) {
        for (int k = 0; k < 624; ++k) {
            uint64_t y = (x[k] & 0x80000000u) | (x[(k + 1) % 624] & 0x7fffffffu);
            x[k] = x[(k + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        twister->position = 0;
    }
    uint32_t y = (uint32_t)x[twister->position++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static int shape_count(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)in, (void)num_in, (void)num_out;
    return vector_of(out, (unsigned int)number(a, "count", 4));
}

/* 0, 1, 2, ... without any input. */
static int count_up(Call* call) {
    if (call->num_in != 0) REFUSE("%d inputs", call->num_in);
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, (double)i);
    return SUCCESS;
}

static int parse_none_to_one(const Attributes* a, int* num_in, int* num_out) {
    (void)a;
    *num_in = 0;
    *num_out = 1;
    return SUCCESS;
}

static int random_numbers(Call* call) {
    int which = (int)number(&call->attributes, "state", 0);
    if (which < 0 || which > 1023) REFUSE("there are 1024 random states, not %d", which);
    Twister* twister = (Twister*)call->random + which;
    if (twister->position > 624) REFUSE("random state %d stands at %llu", which, (unsigned long long)twister->position);
    for (int64_t i = 0; i < size_of(call->out); ++i) ((int64_t*)call->out->data)[i] = draw(twister);
    return SUCCESS;
}

/* What the host says of the first input: dimensions, whether there is data, device id, storage, dtype, lengths. */
static int shape_description(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    return vector_of(out, 12);
}

static int type_description(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    *out = FLOAT64;
    return SUCCESS;
}

static int description(Call* call) {
    double* out = call->out->data;
    const Tensor* x = call->in;
    for (int i = 0; i < 12; ++i) out[i] = -1;
    out[0] = x->ndim;
    out[1] = x->data != NULL;
    out[2] = x->device_id;
    out[3] = x->storage;
    out[4] = x->dtype;
    out[5] = (double)size_of(x);
    for (int i = 0; i < x->ndim && i < 6; ++i) out[6 + i] = (double)x->shape[i];
    return SUCCESS;
}

/* Where the first input lies: so a test sees what is copied. */
static int address(Call* call) {
    ((int64_t*)call->out->data)[0] = (int64_t)(uintptr_t)call->in->data;
    return SUCCESS;
}

static int shape_one(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    return vector_of(out, 1);
}

static int version(Call* call) {
    for (int k = 0; k < 2; ++k) ((int64_t*)call->out->data)[k] = (int64_t)call->in[k].version;
    return SUCCESS;
}

static int shape_two(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    return vector_of(out, 2);
}

/* The attributes as they arrive, "key=value;" in the order of the keys, as bytes. */
static int compare_texts(const void* one, const void* other) {
    return strcmp(*(char* const*)one, *(char* const*)other);
}

static char* shown(const Attributes* a) {
    char* lines[256];
    size_t length = 1;
    for (int i = 0; i < a->count; ++i) {
        size_t bytes = strlen(a->keys[i]) + strlen(a->values[i]) + 3;
        lines[i] = malloc(bytes);
        snprintf(lines[i], bytes, "%s=%s;", a->keys[i], a->values[i]);
        length += bytes;
    }
    qsort(lines, a->count, sizeof *lines, compare_texts);
    char* text = calloc(length, 1);
    for (int i = 0; i < a->count; ++i) {
        strcat(text, lines[i]);
        free(lines[i]);
    }
    return text;
}

static int shape_attributes(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)in, (void)num_in, (void)num_out;
    char* text = shown(a);
    vector_of(out, (unsigned int)strlen(text));
    free(text);
    return SUCCESS;
}

static int type_bytes(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)num_out;
    *out = UINT8;
    return SUCCESS;
}

static int show_attributes(Call* call) {
    char* text = shown(&call->attributes);
    size_t length = strlen(text);
    bool fits = (int64_t)length == size_of(call->out);
    if (fits && length) memcpy(call->out->data, text, length);
    free(text);
    if (!fits) REFUSE("other attributes arrive at forward than at inferShape");
    return SUCCESS;
}

/* x; its gradient is as many times the upstream one as there are attributes. */
static int attributes_gradient(Call* call) {
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, call->attributes.count * get(call->in, i));
    return SUCCESS;
}

/* x, once as many calls as `parties` are inside at the same time. */
static int meet(Call* call) {
    int parties = (int)number(&call->attributes, "parties", 1);
    atomic_fetch_add(&arrivals, 1);
    for (int waited = 0; atomic_load(&arrivals) < parties; nap())
        if (++waited > 20000) REFUSE("%d of %d calls came", atomic_load(&arrivals), parties);
    return copy(call);
}

static int plain_gradient(Call* call) {
    size_t bytes = size_of(call->out) * width_of(call->out->dtype);
    if (bytes) memcpy(call->out->data, call->in->data, bytes);
    return SUCCESS;
}

/* -- mutated inputs ------------------------------------------------------------------------------------------------ */

/* x minus a running mean, which moves: running = momentum * running + (1 - momentum) * mean(x) */
static int mutate_second(const Attributes* a, int* indices) {
    (void)a;
    indices[0] = 1;
    return 1;
}

static int shape_running(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)num_in, (void)num_out;
    vector_of(&in[1], 1);
    out[0] = in[0];
    return SUCCESS;
}

static int running(Call* call) {
    double momentum = number(&call->attributes, "momentum", 0.5), mean = 0;
    int64_t size = size_of(call->in);
    for (int64_t i = 0; i < size; ++i) mean += get(call->in, i) / (double)size;
    if (size) put(&call->in[1], 0, momentum * get(&call->in[1], 0) + (1 - momentum) * mean);
    for (int64_t i = 0; i < size; ++i) put(call->out, i, get(call->in, i) - get(&call->in[1], 0));
    return SUCCESS;
}

/* The gradient does not move the mean; what it says of the mean's gradient nobody asks for. */
static int running_gradient(Call* call) {
    NEEDS_GRADIENT_OF(2, 1);
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, get(call->in, i));
    put(&call->out[1], 0, 77);
    return SUCCESS;
}

/* (memory, x, counter): out = memory * x; then memory += x, counter += 1. The mutated ones are told in the wrong order. */
static int parse_three_to_one(const Attributes* a, int* num_in, int* num_out) {
    (void)a;
    *num_in = 3;
    *num_out = 1;
    return SUCCESS;
}

static int mutate_third_and_first(const Attributes* a, int* indices) {
    (void)a;
    indices[0] = 2;
    indices[1] = 0;
    return 2;
}

static int shape_remember(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    (void)a, (void)num_in, (void)num_out;
    if (in[1].ndim == 0) in[1] = in[0];
    in[0] = in[1];
    vector_of(&in[2], 1);
    out[0] = in[1];
    return SUCCESS;
}

static int type_remember(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)num_in, (void)num_out;
    if (in[1] == -1) in[1] = in[0];
    if (in[0] == -1) in[0] = in[1];
    in[2] = INT32;
    out[0] = in[1];
    return SUCCESS;
}

static int remember(Call* call) {
    for (int64_t i = size_of(call->out); i-- > 0;) {
        double memory = get(&call->in[0], i), x = get(&call->in[1], i);
        put(call->out, i, memory * x);
        put(&call->in[0], i, memory + x);
    }
    ((int32_t*)call->in[2].data)[0] += 1;
    return SUCCESS;
}

/* The gradient is given the memory as it is now. */
static int remember_gradient(Call* call) {
    NEEDS_GRADIENT_OF(3, 1);
    for (int64_t i = size_of(&call->out[1]); i-- > 0;) {
        put(&call->out[1], i, get(&call->in[0], i) * (get(&call->in[1], i) - get(&call->in[2], i)));
        put(&call->out[0], i, 55);
    }
    put(&call->out[2], 0, 66);
    return SUCCESS;
}

/* -- states -------------------------------------------------------------------------------------------------------- */

static int keep(const Attributes* a, State* state) {
    state->number = number(a, "scale", 1);
    return SUCCESS;
}

/* x * scale * (which forward call of this state it is); the gradient is that of the last one. */
static int counted(Call* call) {
    double factor = call->state->number * (double)(call->state->forwards + 1);
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, factor * get(call->in, i));
    return SUCCESS;
}

static int counted_gradient(Call* call) {
    NEEDS_GRADIENT_OF(1, 1);
    if (call->state->forwards < 1) REFUSE("a gradient before any forward call of this state");
    double factor = call->state->number * (double)call->state->forwards;
    for (int64_t i = size_of(call->out); i-- > 0;) put(call->out, i, factor * get(call->in, i));
    return SUCCESS;
}

/* What the state was told when it was made: device id, inputs, the first one's dtype, dimensions and lengths. */
static int told(Call* call) {
    double* out = call->out->data;
    const State* state = call->state;
    for (int i = 0; i < 12; ++i) out[i] = -1;
    out[0] = state->device_id;
    out[1] = state->num_in;
    out[2] = state->in_types[0];
    out[3] = strcmp(state->device, "cpu") == 0;
    out[4] = state->in_shapes[0].ndim;
    for (int i = 0; i < state->in_shapes[0].ndim && i < 6; ++i) out[5 + i] = state->in_shapes[0].dims[i];
    return SUCCESS;
}

/* (x * y, x + 2 y) kept in the state as well: the gradient looks whether it is given the same call's. */
static double first_of(const Tensor* tensor) { return size_of(tensor) ? get(tensor, 0) : 0; }

static int stateful_pair(Call* call) {
    call->state->number = first_of(&call->in[0]);
    return pair(call);
}

static int stateful_pair_gradient(Call* call) {
    if (call->state->number != first_of(&call->in[2]))
        REFUSE("the state saw %g, its gradient is given %g", call->state->number, first_of(&call->in[2]));
    return pair_gradient(call);
}

/* As `running`, with a state that counts. */
static int stateful_running(Call* call) {
    call->attributes.count = 0;
    return running(call);
}

/* x, after all `parties` calls are inside: each of them has a state of its own. */
static int keep_parties(const Attributes* a, State* state) {
    state->number = number(a, "parties", 1);
    return SUCCESS;
}

static int stateful_meet(Call* call) {
    atomic_fetch_add(&arrivals, 1);
    for (int waited = 0; atomic_load(&arrivals) < (int)call->state->number; nap())
        if (++waited > 20000) REFUSE("%d of %d calls came", atomic_load(&arrivals), (int)call->state->number);
    return copy(call);
}

/* -- storage types ------------------------------------------------------------------------------------------------- */

/* Insists on one dense input: so it refuses its gradient's three, if it is asked about them. */
static int storage_dense(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a;
    if (num_in != 1 || num_out != 1 || in[0] != 0) REFUSE("inferSType of %d inputs, the first of storage %d", num_in, in[0]);
    out[0] = 0;
    return SUCCESS;
}

static int storage_unchosen(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)a, (void)in, (void)num_in, (void)out, (void)num_out;
    return SUCCESS;
}

/* `storage` says which its output has: 1 is row_sparse, 2 is csr. */
static int storage_asked_for(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)in, (void)num_in;
    for (int i = 0; i < num_out; ++i) out[i] = (int)number(a, "storage", 0);
    return SUCCESS;
}

/* -- operators with a context only ---------------------------------------------------------------------------------- */

static int never(Call* call) {
    (void)call;
    REFUSE("the function for the GPU ran");
}

/* -- the table ----------------------------------------------------------------------------------------------------- */

#define NAME(name) "raw_" name TAG

const Operator OPERATORS[] = {
    {NAME("affine"), one_to_one, shape_of_first, type_of_first, affine, affine_gradient, .contexts = CPU | GPU},
    {NAME("pair"), two_to_two, shape_of_first, type_of_first, pair, pair_gradient},
    {NAME("cut"), parse_parts, shape_parts, type_of_first, cut, cut_gradient},
    {NAME("sum"), parse_count, shape_of_first, type_of_first, sum, sum_gradient},
    {NAME("cast"), one_to_one, shape_of_first, type_asked_for, cast, cast},
    {NAME("copy"), one_to_one, shape_of_first, type_of_first, copy, plain_gradient},
    {NAME("plain"), one_to_one, shape_of_first, type_of_first, copy, NULL},
    {NAME("rows"), two_to_one, shape_rows, type_rows, rows, rows_gradient},
    {NAME("largest"), one_to_one, shape_scalar, type_position, largest, no_gradient},
    {NAME("dense"), two_to_one, shape_dense, type_of_first, dense, dense_gradient},
    {NAME("workspace"), one_to_one, shape_of_first, type_of_first, workspace, workspace_gradient},
    {NAME("random"), one_to_one, shape_count, type_position, random_numbers, NULL},
    {NAME("count_up"), parse_none_to_one, shape_count, type_position, count_up, NULL},
    {NAME("description"), one_to_one, shape_description, type_description, description, NULL},
    {NAME("address"), one_to_one, shape_one, type_position, address, NULL},
    {NAME("versions"), two_to_one, shape_two, type_position, version, NULL},
    {NAME("attributes"), one_to_one, shape_attributes, type_bytes, show_attributes, NULL},
    {NAME("attribute_count"), one_to_one, shape_of_first, type_of_first, copy, attributes_gradient},
    {NAME("meet"), one_to_one, shape_of_first, type_of_first, meet, plain_gradient},
    {NAME("running"), two_to_one, shape_running, type_of_first, running, running_gradient, .mutate = mutate_second},
    {NAME("remember"), parse_three_to_one, shape_remember, type_remember, remember, remember_gradient,
     .mutate = mutate_third_and_first},
    {NAME("counted"), one_to_one, shape_of_first, type_of_first, counted, counted_gradient, .create = keep},
    {NAME("told"), one_to_one, shape_description, type_description, told, NULL, .create = keep},
    {NAME("stateful_pair"), two_to_two, shape_of_first, type_of_first, stateful_pair, stateful_pair_gradient, .create = keep},
    {NAME("stateful_running"), two_to_one, shape_running, type_of_first, stateful_running, running_gradient, .create = keep,
     .mutate = mutate_second},
    {NAME("stateful_meet"), one_to_one, shape_of_first, type_of_first, stateful_meet, plain_gradient,
     .create = keep_parties},
    {NAME("storage_dense"), one_to_one, shape_of_first, type_of_first, copy, plain_gradient, .storage = storage_dense},
    {NAME("storage_unchosen"), one_to_one, shape_of_first, type_of_first, copy, plain_gradient, .storage = storage_unchosen},
    {NAME("storage"), one_to_one, shape_of_first, type_of_first, copy, plain_gradient, .storage = storage_asked_for},
    {NAME("gpu_only"), one_to_one, shape_of_first, type_of_first, never, never, .contexts = GPU},
    {"_raw_hidden" TAG, one_to_one, shape_of_first, type_of_first, affine, affine_gradient},
    {"_contrib_raw_contributed" TAG, one_to_one, shape_of_first, type_of_first, affine, affine_gradient},
};
const int NUM_OPERATORS = sizeof OPERATORS / sizeof *OPERATORS;
