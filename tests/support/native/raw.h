/* The symbols of a MXNet extension library in plain C: no header but this one, no C++.
 *
 * A library that includes it defines two tables, OPERATORS and their number. The functions here stand where MXNet's own
 * trampolines stand: the host hands back opaque pointers, and they call the function that is meant. Beside that they watch
 * the host. What it calls is logged; memory that it has to free, and states that it has to destroy, are counted; what it
 * must never do is noted as a fault. The functions raw_* at the end tell tests of all that.
 *
 * -DABI=7 and -DABI=10 make libraries of MXNet 1.7 and 1.8; -DTAG='"_v7"' gives all operators names of their own.
 */
#ifndef RAW_H
#define RAW_H

#define _POSIX_C_SOURCE 200809L

/* What a table does not name, an operator does not have. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef ABI
#define ABI 11
#endif
#ifndef TAG
#define TAG ""
#endif

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))
#define MAX_TENSORS 64
#define MAX_DIMS 40

enum { FAIL = 0, SUCCESS = 1 };
enum { FLOAT32, FLOAT64, FLOAT16, UINT8, INT32, INT8, INT64 };
enum { CPU = 1, GPU = 2 };

typedef void* (*Malloc)(void* handle, int bytes);
typedef void (*SparseMalloc)(void* handle, int index, int indices_len, int indptr_len, void** data, int64_t** indices,
                             int64_t** indptr);

typedef struct {
    const char* const* keys;
    const char* const* values;
    int count;
} Attributes;

typedef struct {
    int ndim;
    unsigned int dims[MAX_DIMS];
} Shape;

typedef struct {
    const int64_t* shape;
    int ndim;
    void* data;
    int dtype;
    size_t version;
    const char* device;
    int device_id;
    int storage;
} Tensor;

struct Operator;

/* What a stateful operator is to a host: MXNet 1.9 reads the two bytes behind the pointer. */
typedef struct {
    void* vtable;
    bool ignore_warning;
    bool created;
    const struct Operator* op;
    char device[8];
    int device_id;
    int num_in;
    Shape in_shapes[8];
    int in_types[8];
    long forwards;
    long backwards;
    double number;
    char* graph;
    atomic_int inside;
} State;

typedef struct {
    const struct Operator* op;
    Attributes attributes; /* none in calls with a state */
    State* state;
    bool forward;
    Tensor in[MAX_TENSORS];
    int num_in;
    Tensor out[MAX_TENSORS];
    int num_out;
    Malloc malloc;
    void* malloc_handle;
    SparseMalloc sparse;
    void* sparse_handle;
    void* random;
} Call;

typedef struct Operator {
    const char* name;
    int (*parse)(const Attributes*, int* num_in, int* num_out);
    int (*shape)(const Attributes*, Shape* in, int num_in, Shape* out, int num_out);
    int (*type)(const Attributes*, int* in, int num_in, int* out, int num_out);
    int (*forward)(Call*);
    int (*backward)(Call*);
    int (*create)(const Attributes*, State*);
    int (*mutate)(const Attributes*, int* indices); /* returns how many, -1 to fail */
    int (*storage)(const Attributes*, int* in, int num_in, int* out, int num_out);
    int contexts; /* CPU | GPU; 0 is CPU */
    int subgraph;
} Operator;

extern const Operator OPERATORS[] __attribute__((visibility("hidden")));
extern const int NUM_OPERATORS __attribute__((visibility("hidden")));

/* -- what is watched ----------------------------------------------------------------------------------------------- */

enum { LINES = 8192, WIDTH = 192, BLOCKS = 65536 };

static atomic_flag lock = ATOMIC_FLAG_INIT;
static char log_lines[LINES][WIDTH];
static int log_count;
static atomic_bool logging;
static char fault_lines[64][WIDTH];
static int fault_count;
static char* message_lines[LINES];
static int message_count;
static void* blocks[BLOCKS];
static int block_count;
static void* states[BLOCKS];
static int state_count;
static atomic_long states_made;
static atomic_long states_destroyed;
UNUSED static atomic_int registrations[256];
static atomic_int arrivals;

static void hold(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
}

static void release(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

static void note(const char* what, const char* name) {
    if (!atomic_load(&logging)) return;
    hold();
    if (log_count < LINES) snprintf(log_lines[log_count++], WIDTH, "%s %s", what, name);
    release();
}

__attribute__((format(printf, 1, 2))) static void fault(const char* format, ...) {
    va_list arguments;
    hold();
    if (fault_count < 64) {
        va_start(arguments, format);
        vsnprintf(fault_lines[fault_count++], WIDTH, format, arguments);
        va_end(arguments);
    }
    release();
}

__attribute__((format(printf, 3, 4))) static int add_message(const char* file, int line, const char* format, ...) {
    char text[2048];
    const char* slash = strrchr(file, '/');
    int begun = snprintf(text, sizeof text, "%s[%d]: ", slash ? slash + 1 : file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + begun, sizeof text - begun, format, arguments);
    va_end(arguments);
    hold();
    if (message_count < LINES) message_lines[message_count++] = strdup(text);
    release();
    return FAIL;
}

#define REFUSE(...) return add_message(__FILE__, __LINE__, __VA_ARGS__)

/* -- helpers of operators ------------------------------------------------------------------------------------------ */

UNUSED static const char* attribute(const Attributes* attributes, const char* key, const char* otherwise) {
    for (int i = attributes->count - 1; i >= 0; --i)
        if (strcmp(attributes->keys[i], key) == 0) return attributes->values[i];
    return otherwise;
}

UNUSED static double number(const Attributes* attributes, const char* key, double otherwise) {
    const char* value = attribute(attributes, key, NULL);
    return value ? strtod(value, NULL) : otherwise;
}

UNUSED static int64_t size_of(const Tensor* tensor) {
    int64_t size = 1;
    for (int i = 0; i < tensor->ndim; ++i) size *= tensor->shape[i];
    return size;
}

UNUSED static size_t width_of(int dtype) {
    static const size_t widths[] = {4, 8, 2, 1, 4, 1, 8};
    return widths[dtype];
}

UNUSED static double from_half(uint16_t half) {
    int sign = half >> 15, exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return sign ? -value : value;
}

UNUSED static uint16_t to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value)) return 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    int exponent;
    frexp(size, &exponent);
    if (size == 0 || exponent < -13) return sign | (uint16_t)nearbyint(ldexp(size, 24));
    uint32_t rounded = (uint32_t)nearbyint(ldexp(size, 11 - exponent)); /* 1024 to 2048, which carries */
    return sign | (uint16_t)(((exponent + 14) << 10) + rounded - 1024);
}

UNUSED static double get(const Tensor* tensor, int64_t i) {
    switch (tensor->dtype) {
        case FLOAT32: return ((float*)tensor->data)[i];
        case FLOAT64: return ((double*)tensor->data)[i];
        case FLOAT16: return from_half(((uint16_t*)tensor->data)[i]);
        case UINT8: return ((uint8_t*)tensor->data)[i];
        case INT32: return ((int32_t*)tensor->data)[i];
        case INT8: return ((int8_t*)tensor->data)[i];
        default: return (double)((int64_t*)tensor->data)[i];
    }
}

UNUSED static void put(const Tensor* tensor, int64_t i, double value) {
    switch (tensor->dtype) {
        case FLOAT32: ((float*)tensor->data)[i] = (float)value; break;
        case FLOAT64: ((double*)tensor->data)[i] = value; break;
        case FLOAT16: ((uint16_t*)tensor->data)[i] = to_half(value); break;
        case UINT8: ((uint8_t*)tensor->data)[i] = (uint8_t)(int64_t)value; break;
        case INT32: ((int32_t*)tensor->data)[i] = (int32_t)value; break;
        case INT8: ((int8_t*)tensor->data)[i] = (int8_t)(int64_t)value; break;
        default: ((int64_t*)tensor->data)[i] = (int64_t)value;
    }
}

UNUSED static void nap(void) {
    struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

/* Memory that the host has to give back through _opCallFree. */
static void* lend(size_t bytes) {
    void* block = malloc(bytes);
    hold();
    if (block_count < BLOCKS) blocks[block_count++] = block;
    release();
    return block;
}

UNUSED static bool take_out(void** from, int* count, void* which) {
    for (int i = *count - 1; i >= 0; --i)
        if (from[i] == which) {
            from[i] = from[--*count];
            return true;
        }
    return false;
}

/* -- loading ------------------------------------------------------------------------------------------------------- */

#ifndef RAW_OWN_VERSION
EXPORT int _opVersion(void) { return ABI; }
#endif

#ifndef RAW_OWN_INITIALIZE
EXPORT int initialize(int version) {
    if (version < 10700) return FAIL;
    return SUCCESS;
}
#endif

#if ABI >= 8
EXPORT int _msgSize(void) {
    hold();
    int count = message_count;
    release();
    return count;
}

EXPORT void _msgGet(int index, const char** text) {
    if (index < 0 || index >= message_count) {
        fault("_msgGet(%d) of %d messages", index, message_count);
        *text = "";
        return;
    }
    *text = message_lines[index];
}
#endif

#ifndef RAW_OWN_OPERATORS
static const char* CONTEXTS[] = {"cpu", "gpu"};

EXPORT int _opRegSize(void) { return NUM_OPERATORS; }

/* Pointers to functions are opaque to hosts: an operator's address, and one byte further for its gradient. As in MXNet's
 * own header, a registration that is asked for again is there twice. */
static int fill(const Operator* op, const void* function, const char*** contexts, void*** pointers, int further,
                int times) {
    if (!function) {
        *contexts = NULL;
        *pointers = NULL;
        return 0;
    }
    int available = op->contexts ? op->contexts : CPU, count = 0;
    /* Kept as long as the library, as the vectors of MXNet's registry are. */
    const char** names = malloc(2 * times * sizeof *names);
    void** functions = malloc(2 * times * sizeof *functions);
    for (int k = 0; k < 2 * times; ++k)
        if (available & 1 << k % 2) {
            int i = k % 2;
            names[count] = CONTEXTS[i];
            functions[count++] = (char*)op + further + 2 * i;
        }
    *contexts = names;
    *pointers = functions;
    return count;
}

EXPORT void _opRegGet(int index, const char** name, int* is_subgraph, const char*** forward_contexts, void*** forwards,
                      int* forward_count, const char*** backward_contexts, void*** backwards, int* backward_count,
                      const char*** create_contexts, void*** creates, int* create_count, void** parse, void** type,
                      void** storage, void** shape, void** mutate) {
    if (index < 0 || index >= NUM_OPERATORS) {
        fault("_opRegGet(%d) of %d operators", index, NUM_OPERATORS);
        return;
    }
    const Operator* op = &OPERATORS[index];
    int times = atomic_fetch_add(&registrations[index], 1) + 1;
    *name = op->name;
    *is_subgraph = op->subgraph;
    /* A stateful operator has the same two functions in its state, and none to be called without. */
    const void* forward = op->create ? NULL : (const void*)op->forward;
    const void* backward = op->create ? NULL : (const void*)op->backward;
    *forward_count = fill(op, forward, forward_contexts, forwards, 0, times);
    *backward_count = fill(op, backward, backward_contexts, backwards, 1, times);
    *create_count = fill(op, (const void*)op->create, create_contexts, creates, 0, times);
    *parse = op->parse ? (void*)op : NULL;
    *type = op->type ? (void*)op : NULL;
    *storage = op->storage ? (void*)op : NULL;
    *shape = op->shape ? (void*)op : NULL;
    *mutate = op->mutate ? (void*)op : NULL;
}
#endif

EXPORT void _opCallFree(void* block) {
    if (!block) return;
    hold();
    bool known = take_out(blocks, &block_count, block);
    release();
    if (known) free(block);
    else fault("_opCallFree of a block that is not lent: freed twice, or never given");
}

/* What a library does to the results of its functions before the host sees them. */
#ifdef RAW_SPOILS
static void spoil_shapes(const Attributes* attributes, unsigned int*** in_shapes, int** in_dims,
                         unsigned int*** out_shapes, int** out_dims);
static void spoil_indices(const Attributes* attributes, int** indices, int* number_of);
#endif

/* -- attributes and inference -------------------------------------------------------------------------------------- */

#define KV const char *const *keys, const char *const *values, int count
#define ATTRIBUTES {keys, values, count}

EXPORT int _opCallParseAttrs(void* function, KV, int* num_in, int* num_out) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    note("parseAttrs", op->name);
    return op->parse(&attributes, num_in, num_out);
}

EXPORT int _opCallInferShape(void* function, KV, unsigned int** in_shapes, int* in_dims, int num_in,
                             unsigned int*** new_in_shapes, int** new_in_dims, unsigned int*** out_shapes, int** out_dims,
                             int num_out) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    Shape in[MAX_TENSORS], out[MAX_TENSORS];
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    note("inferShape", op->name);
    for (int i = 0; i < num_in; ++i) {
        in[i].ndim = in_dims[i] > 0 ? in_dims[i] : 0; /* -1 is unknown, too */
        if (in[i].ndim > 0) memcpy(in[i].dims, in_shapes[i], in[i].ndim * sizeof(unsigned int));
    }
    if (!op->shape(&attributes, in, num_in, out, num_out)) return FAIL;
    *new_in_dims = lend(num_in * sizeof(int));
    *new_in_shapes = lend(num_in * sizeof(unsigned int*));
    *out_dims = lend(num_out * sizeof(int));
    *out_shapes = lend(num_out * sizeof(unsigned int*));
    for (int i = 0; i < num_in; ++i) {
        size_t bytes = in[i].ndim * sizeof(unsigned int);
        (*new_in_dims)[i] = in[i].ndim;
        (*new_in_shapes)[i] = memcpy(lend(bytes), in[i].dims, bytes);
    }
    for (int i = 0; i < num_out; ++i) {
        size_t bytes = out[i].ndim * sizeof(unsigned int);
        (*out_dims)[i] = out[i].ndim;
        (*out_shapes)[i] = memcpy(lend(bytes), out[i].dims, bytes);
    }
#ifdef RAW_SPOILS
    spoil_shapes(&attributes, new_in_shapes, new_in_dims, out_shapes, out_dims);
#endif
    return SUCCESS;
}

EXPORT int _opCallInferType(void* function, KV, int* in, int num_in, int* out, int num_out) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    int changed_in[MAX_TENSORS], changed_out[MAX_TENSORS];
    note("inferType", op->name);
    memcpy(changed_in, in, num_in * sizeof(int));
    for (int i = 0; i < num_out; ++i) changed_out[i] = -1;
    if (!op->type(&attributes, changed_in, num_in, changed_out, num_out)) return FAIL;
    memcpy(in, changed_in, num_in * sizeof(int));
    memcpy(out, changed_out, num_out * sizeof(int));
    return SUCCESS;
}

EXPORT int _opCallInferSType(void* function, KV, int* in, int num_in, int* out, int num_out) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    note("inferSType", op->name);
    for (int i = 0; i < num_out; ++i) out[i] = -1;
    return op->storage(&attributes, in, num_in, out, num_out);
}

EXPORT int _opCallMutateInputs(void* function, KV, int** indices, int* number_of) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    int found[MAX_TENSORS];
    note("mutateInputs", op->name);
    int mutated = op->mutate(&attributes, found);
    if (mutated < 0) return FAIL;
    *indices = memcpy(lend(mutated * sizeof(int)), found, mutated * sizeof(int));
    *number_of = mutated;
#ifdef RAW_SPOILS
    spoil_indices(&attributes, indices, number_of);
#endif
    return SUCCESS;
}

/* -- computing ----------------------------------------------------------------------------------------------------- */

#define TENSORS                                                                                                         \
    const int64_t **in_shapes, int *in_dims, void **in_data, int *in_types, size_t *in_versions, const char **in_devices, \
        int *in_device_ids, int num_in, const int64_t **out_shapes, int *out_dims, void **out_data, int *out_types,     \
        size_t *out_versions, const char **out_devices, int *out_device_ids, int num_out, Malloc cpu_malloc,            \
        void *cpu_handle, Malloc gpu_malloc, void *gpu_handle, void *stream, SparseMalloc sparse_malloc,                \
        void *sparse_handle, int *in_storages, int *out_storages, void **in_indices, void **out_indices,                \
        void **in_indptr, void **out_indptr, int64_t *in_indices_len, int64_t *out_indices_len, int64_t *in_indptr_len, \
        int64_t *out_indptr_len, void *rng_cpu, void *rng_gpu

/* All of one side of a call, with what every host has to give. */
static void gather(Tensor* tensors, const char* name, const char* side, int number_of, const int64_t** shapes, int* dims,
                   void** data, int* types, size_t* versions, const char** devices, int* ids, int* storages,
                   void** indices, void** indptr, int64_t* indices_len, int64_t* indptr_len) {
    if (!indices || !indptr || !indices_len || !indptr_len) fault("%s: the arrays of sparse %ss are NULL", name, side);
    for (int i = 0; i < number_of; ++i) {
        Tensor* tensor = &tensors[i];
        *tensor = (Tensor){shapes[i], dims[i], data[i], types[i], versions[i], devices[i], ids[i], storages[i]};
        if (tensor->dtype < 0 || tensor->dtype > 6) fault("%s: %s %d has the dtype %d", name, side, i, tensor->dtype);
        else if (tensor->storage == 0 && size_of(tensor) > 0 && !tensor->data)
            fault("%s: %s %d has no data", name, side, i);
        else if ((uintptr_t)tensor->data % width_of(tensor->dtype)) fault("%s: %s %d is not aligned", name, side, i);
        if (tensor->ndim < 0) fault("%s: %s %d has %d dimensions", name, side, i, tensor->ndim);
        if (tensor->ndim > 0 && !tensor->shape) fault("%s: %s %d has no shape", name, side, i);
        if (!tensor->device || strcmp(tensor->device, "cpu")) fault("%s: %s %d is not on the CPU", name, side, i);
    }
}

static int compute(Call* call, const char* what, TENSORS) {
    const Operator* op = call->op;
    note(what, op->name);
    if (num_in > MAX_TENSORS || num_out > MAX_TENSORS) REFUSE("more than %d tensors", MAX_TENSORS);
    gather(call->in, op->name, "input", num_in, in_shapes, in_dims, in_data, in_types, in_versions, in_devices,
           in_device_ids, in_storages, in_indices, in_indptr, in_indices_len, in_indptr_len);
    gather(call->out, op->name, "output", num_out, out_shapes, out_dims, out_data, out_types, out_versions, out_devices,
           out_device_ids, out_storages, out_indices, out_indptr, out_indices_len, out_indptr_len);
    for (int i = 0; i < num_out; ++i)
        for (int j = 0; j < i; ++j)
            if (out_data[i] && out_data[i] == out_data[j] && size_of(&call->out[i]) && size_of(&call->out[j]))
                fault("%s: outputs %d and %d share memory", op->name, j, i);
    if (!cpu_malloc || !sparse_malloc || !rng_cpu) fault("%s: a callback, or the random states, are NULL", op->name);
    if (stream) fault("%s: there is a CUDA stream", op->name);
    (void)gpu_malloc, (void)gpu_handle, (void)rng_gpu;
    call->num_in = num_in;
    call->num_out = num_out;
    call->malloc = cpu_malloc;
    call->malloc_handle = cpu_handle;
    call->sparse = sparse_malloc;
    call->sparse_handle = sparse_handle;
    call->random = rng_cpu;
    return (call->forward ? op->forward : op->backward)(call);
}

#define PASS_TENSORS                                                                                                     \
    in_shapes, in_dims, in_data, in_types, in_versions, in_devices, in_device_ids, num_in, out_shapes, out_dims,         \
        out_data, out_types, out_versions, out_devices, out_device_ids, num_out, cpu_malloc, cpu_handle, gpu_malloc,     \
        gpu_handle, stream, sparse_malloc, sparse_handle, in_storages, out_storages, in_indices, out_indices, in_indptr, \
        out_indptr, in_indices_len, out_indices_len, in_indptr_len, out_indptr_len, rng_cpu, rng_gpu

EXPORT int _opCallFCompute(void* function, KV, TENSORS) {
    int64_t further = ((char*)function - (char*)OPERATORS) % (int64_t)sizeof(Operator);
    const Operator* op = (const Operator*)((char*)function - further);
    if (further >= 2) fault("%s: the function for the GPU is called", op->name);
    Call call = {.op = op, .attributes = ATTRIBUTES, .forward = further % 2 == 0};
    return compute(&call, call.forward ? "forward" : "backward", PASS_TENSORS);
}

/* -- states -------------------------------------------------------------------------------------------------------- */

#if ABI >= 11
EXPORT void _opCallDestroyOpState(void* which);
#endif

static void* VTABLE[4];

static State* made(const Operator* op) {
    State* state = calloc(1, sizeof *state);
    state->vtable = VTABLE;
    state->created = true;
    state->op = op;
    return state;
}

static int created(const Operator* op, const Attributes* attributes, State* state, void** result) {
    note("createOpState", op->name);
    if (*result) fault("%s: the pointer for the state is not NULL", op->name);
    const char* graph = attribute(attributes, "subgraph_sym_json", NULL);
    if (graph) state->graph = strdup(graph);
    if (!op->create(attributes, state)) {
        free(state->graph);
        free(state);
        return FAIL;
    }
    hold();
    if (state_count < BLOCKS) states[state_count++] = state;
    release();
    atomic_fetch_add(&states_made, 1);
    *result = state;
#ifdef RAW_SPOILS
    if (strcmp(attribute(attributes, "what", ""), "state_null") == 0) {
        _opCallDestroyOpState(state);
        *result = NULL;
    }
#endif
    return SUCCESS;
}

#if ABI >= 10
EXPORT int _opCallCreateOpState(void* function, KV, const char* device, int device_id, unsigned int** in_shapes,
                                int* in_dims, int num_in, const int* in_types, void** result) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    State* state = made(op);
    snprintf(state->device, sizeof state->device, "%s", device ? device : "NULL");
    state->device_id = device_id;
    state->num_in = num_in;
    for (int i = 0; i < num_in && i < 8; ++i) {
        state->in_shapes[i].ndim = in_dims[i];
        if (in_dims[i] > 0) memcpy(state->in_shapes[i].dims, in_shapes[i], in_dims[i] * sizeof(unsigned int));
        state->in_types[i] = in_types[i];
    }
    return created(op, &attributes, state, result);
}
#else
EXPORT int _opCallCreateOpState(void* function, KV, void** result) {
    const Operator* op = function;
    Attributes attributes = ATTRIBUTES;
    return created(op, &attributes, made(op), result);
}
#endif

#if ABI >= 11
EXPORT void _opCallDestroyOpState(void* which) {
    State* state = which;
    hold();
    bool known = take_out(states, &state_count, which);
    release();
    if (!known) {
        fault("_opCallDestroyOpState of what is no state, or no longer");
        return;
    }
    note("destroyOpState", state->op->name);
    if (atomic_load(&state->inside)) fault("%s: a state is destroyed during a call of it", state->op->name);
    atomic_fetch_add(&states_destroyed, 1);
    free(state->graph);
    free(state);
}
#endif

EXPORT int _opCallFStatefulCompute(int is_forward, void* which, TENSORS) {
    hold();
    bool known = false;
    for (int i = 0; i < state_count && !known; ++i) known = states[i] == which;
    release();
    if (!known) {
        fault("a call of what is no state, or no longer");
        return FAIL;
    }
    State* state = which;
    if (atomic_fetch_add(&state->inside, 1)) fault("%s: two calls of one state at once", state->op->name);
    Call call = {.op = state->op, .state = state, .forward = is_forward == 1};
    int result;
    if (!is_forward && !state->op->backward)
        result = add_message(__FILE__, __LINE__, "Error! Operator does not support backward");
    else result = compute(&call, is_forward ? "statefulForward" : "statefulBackward", PASS_TENSORS);
    if (is_forward) ++state->forwards;
    else ++state->backwards;
    atomic_fetch_sub(&state->inside, 1);
    return result;
}

/* -- partitioners and passes: none, unless a library says so -------------------------------------------------------- */

#define PARAMETERS(which)                                                                                              \
    const char *const *which##_names, int which##_count, void *const *which##_data, const int64_t *const *which##_shapes, \
        const int *which##_dims, const int *which##_types, const size_t *which##_versions,                             \
        const char *const *which##_devices, const int *which##_device_ids
#define FORGET(which)                                                                                                  \
    (void)which##_names, (void)which##_count, (void)which##_data, (void)which##_shapes, (void)which##_dims,            \
        (void)which##_types, (void)which##_versions, (void)which##_devices, (void)which##_device_ids

#if !defined(RAW_OWN_PARTITIONERS) && !defined(RAW_OWN_REGISTRY)
EXPORT int _partRegSize(void) { return 0; }

EXPORT int _partRegGetCount(int index, const char** name) {
    fault("_partRegGetCount(%d) of no partitioners", index);
    *name = "";
    return 0;
}

EXPORT void _partRegGet(int index, int strategy, const char** name, void** supported, void** selector, void** review,
                        const char** op) {
    fault("_partRegGet(%d, %d) of no partitioners", index, strategy);
    *name = *op = "";
    *supported = *selector = *review = NULL;
}

EXPORT int _passRegSize(void) { return 0; }

EXPORT void _passRegGet(int index, void** body, const char** name) {
    fault("_passRegGet(%d) of no passes", index);
    *name = "";
    *body = NULL;
}
#endif

#ifndef RAW_OWN_PARTITIONERS
EXPORT int _partCallSupportedOps(void* function, const char* json, int num_ids, int* ids, KV) {
    (void)function, (void)json, (void)num_ids, (void)ids, (void)keys, (void)values, (void)count;
    return FAIL;
}

EXPORT int _partCallCreateSelector(void* function, const char* json, void** selector, KV) {
    (void)function, (void)json, (void)selector, (void)keys, (void)values, (void)count;
    return FAIL;
}

EXPORT void _partCallSelect(void* selector, int node, int* selected) { (void)selector, (void)node, *selected = 0; }

EXPORT void _partCallSelectInput(void* selector, int node, int input, int* selected) {
    (void)selector, (void)node, (void)input, *selected = 0;
}

EXPORT void _partCallSelectOutput(void* selector, int node, int output, int* selected) {
    (void)selector, (void)node, (void)output, *selected = 0;
}

EXPORT void _partCallFilter(void* selector, int* candidates, int number_of, int** keep, int* num_keep) {
    (void)selector;
    *keep = memcpy(lend(number_of * sizeof(int)), candidates, number_of * sizeof(int));
    *num_keep = number_of;
}

EXPORT void _partCallReset(void* selector) { (void)selector; }

EXPORT int _partCallReviewSubgraph(void* function, const char* json, int number_of, int* accept, KV, char*** names,
                                   char*** texts, int* num_attributes, PARAMETERS(args), PARAMETERS(aux)) {
    (void)function, (void)json, (void)number_of, (void)accept, (void)keys, (void)values, (void)count, (void)names;
    (void)texts, (void)num_attributes, FORGET(args), FORGET(aux);
    return FAIL;
}

EXPORT int _passCallGraphPass(void* function, const char* json, char** result, KV, const char* name, PARAMETERS(args),
                              PARAMETERS(aux), void* allocate, const void* handle) {
    (void)function, (void)json, (void)result, (void)keys, (void)values, (void)count, (void)name, (void)allocate;
    (void)handle, FORGET(args), FORGET(aux);
    return FAIL;
}
#endif

/* -- what tests ask ------------------------------------------------------------------------------------------------- */

EXPORT void raw_log(int on) {
    hold();
    log_count = 0;
    release();
    atomic_store(&logging, on);
}

EXPORT int raw_log_size(void) { return log_count; }
EXPORT const char* raw_log_line(int index) { return log_lines[index]; }
EXPORT int raw_faults(void) { return fault_count; }
EXPORT const char* raw_fault(int index) { return fault_lines[index]; }
EXPORT int raw_blocks(void) { return block_count; }
EXPORT int raw_states(void) { return state_count; }
EXPORT long raw_states_made(void) { return atomic_load(&states_made); }
EXPORT long raw_states_destroyed(void) { return atomic_load(&states_destroyed); }
EXPORT int raw_arrivals(void) { return atomic_load(&arrivals); }
EXPORT void raw_forget_arrivals(void) { atomic_store(&arrivals, 0); }

#endif
