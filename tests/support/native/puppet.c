/* A library whose partitioners and passes do what the test says: every call of them goes to a function that was set.
 *
 * The partitioners have strategies by both ways of choosing nodes, with and without a review, and one has two. Their
 * subgraph operators weigh what they are given, so that an input or output at the wrong place is seen: output k is
 * (k + 1) times the sum of (j + 1) times input j.
 */
#define RAW_OWN_PARTITIONERS
#include "raw.h"

/* -- operators ------------------------------------------------------------------------------------------------------ */

static char* last_attributes; /* of the state that was made last */
static atomic_bool failing;   /* whether subgraph operators fail */

static int by_key(const void* a, const void* b) {
    return strcmp(*(const char* const*)a, *(const char* const*)b);
}

/* Keeps the attributes of a state, each ended by a character 1. */
static void keep(const Attributes* attributes) {
    size_t length = 1;
    const char** keys = malloc((attributes->count + 1) * sizeof *keys);
    for (int i = 0; i < attributes->count; ++i) {
        keys[i] = attributes->keys[i];
        length += strlen(attributes->keys[i]) + strlen(attributes->values[i]) + 2;
    }
    qsort(keys, attributes->count, sizeof *keys, by_key);
    char* text = malloc(length);
    *text = 0;
    for (int i = 0; i < attributes->count; ++i) {
        strcat(strcat(text, keys[i]), "=");
        strcat(strcat(text, attribute(attributes, keys[i], "")), "\1");
    }
    free(keys);
    hold();
    free(last_attributes);
    last_attributes = text;
    release();
}

static int create(const Attributes* attributes, State* state) {
    keep(attributes);
    if (strcmp(attribute(attributes, "refuse", ""), "state") == 0) REFUSE("no state today");
    state->number = number(attributes, "factor", strncmp(state->op->name, "_puppet_other", 13) ? 1 : 10);
    return SUCCESS;
}

static int forward(Call* call) {
    if (atomic_load(&failing)) REFUSE("it was told to fail");
    for (int k = 0; k < call->num_out; ++k)
        for (int64_t i = 0; i < size_of(&call->out[k]); ++i) {
            double sum = 0;
            for (int j = 0; j < call->num_in; ++j) sum += (j + 1) * get(&call->in[j], i % size_of(&call->in[j]));
            put(&call->out[k], i, call->state->number * (k + 1) * sum);
        }
    ++call->state->forwards;
    return SUCCESS;
}

static int backward(Call* call) {
    if (atomic_load(&failing)) REFUSE("it was told to fail");
    int num_in = call->num_out, num_out = (call->num_in - num_in) / 2;
    for (int j = 0; j < num_in; ++j) {
        for (int64_t i = 0; i < size_of(&call->out[j]); ++i) put(&call->out[j], i, 0);
        for (int k = 0; k < num_out; ++k)
            for (int64_t i = 0; i < size_of(&call->in[k]); ++i) {
                int64_t at = i % size_of(&call->out[j]);
                double more = call->state->number * (k + 1) * (j + 1) * get(&call->in[k], i);
                put(&call->out[j], at, get(&call->out[j], at) + more);
            }
    }
    return SUCCESS;
}

static int parse_two(const Attributes* attributes, int* num_in, int* num_out) {
    *num_in = (int)number(attributes, "inputs", 1);
    *num_out = 1;
    return SUCCESS;
}

static int shape_first(const Attributes* attributes, Shape* in, int num_in, Shape* out, int num_out) {
    (void)attributes;
    for (int j = 1; j < num_in; ++j)
        if (!in[j].ndim) in[j] = in[0];
    for (int k = 0; k < num_out; ++k) out[k] = in[0];
    return SUCCESS;
}

static int type_first(const Attributes* attributes, int* in, int num_in, int* out, int num_out) {
    (void)attributes;
    for (int j = 1; j < num_in; ++j)
        if (in[j] < 0) in[j] = in[0];
    for (int k = 0; k < num_out; ++k) out[k] = in[0];
    return SUCCESS;
}

/* The sum of its inputs, those further ones included that a pass gave it. */
static int total(Call* call) {
    for (int64_t i = 0; i < size_of(&call->out[0]); ++i) {
        double sum = 0;
        for (int j = 0; j < call->num_in; ++j) sum += get(&call->in[j], i % size_of(&call->in[j]));
        put(&call->out[0], i, sum);
    }
    return SUCCESS;
}

/* Counts its calls in its second input, a state. */
static int mutate_second(const Attributes* attributes, int* indices) {
    (void)attributes;
    indices[0] = 1;
    return 1;
}

static int parse_counting(const Attributes* attributes, int* num_in, int* num_out) {
    (void)attributes;
    *num_in = 2;
    *num_out = 1;
    return SUCCESS;
}

static int count_calls(Call* call) {
    for (int64_t i = 0; i < size_of(&call->in[1]); ++i) put(&call->in[1], i, get(&call->in[1], i) + 1);
    for (int64_t i = 0; i < size_of(&call->out[0]); ++i) put(&call->out[0], i, get(&call->in[0], i));
    return SUCCESS;
}

const Operator OPERATORS[] = {
    {.name = "_puppet_op" TAG, .subgraph = 1, .create = create, .forward = forward, .backward = backward},
    {.name = "_puppet_other" TAG, .subgraph = 1, .create = create, .forward = forward, .backward = backward},
    {.name = "puppet_total" TAG, .parse = parse_two, .shape = shape_first, .type = type_first, .forward = total},
    {.name = "puppet_counting" TAG, .parse = parse_counting, .shape = shape_first, .type = type_first,
     .forward = count_calls, .mutate = mutate_second},
};
const int NUM_OPERATORS = sizeof OPERATORS / sizeof *OPERATORS;

EXPORT const char* puppet_attributes(void) { return last_attributes ? last_attributes : ""; }
EXPORT void puppet_fail(int on) { atomic_store(&failing, on); }
EXPORT int puppet_message(const char* text) { return add_message("puppet.c", 1, "%s", text); }
EXPORT void* puppet_lend(size_t bytes) { return lend(bytes); }

/* -- partitioners and passes ---------------------------------------------------------------------------------------- */

typedef void (*NewParameter)(const void* handle, const int64_t* shape, int ndim, const char* device, int device_id,
                             int dtype, const char* name, int is_arg, void** data);

typedef struct {
    int (*supported)(const char* strategy, const char* json, int num_ids, int* ids, KV);
    int (*create)(const char* strategy, const char* json, void** selector, KV);
    void (*select)(void* selector, int node, int* selected);
    void (*select_input)(void* selector, int node, int input, int* selected);
    void (*select_output)(void* selector, int node, int output, int* selected);
    void (*filter)(void* selector, int* candidates, int count, int** keep, int* num_keep);
    void (*reset)(void* selector);
    int (*review)(const char* strategy, const char* json, int number_of, int* accept, KV, char*** names, char*** texts,
                  int* num_attributes, PARAMETERS(args), PARAMETERS(aux));
    int (*pass)(const char* pass, const char* json, char** result, KV, const char* name, PARAMETERS(args),
                PARAMETERS(aux), NewParameter allocate, const void* handle);
} Handlers;

EXPORT Handlers puppet_handlers;

typedef struct {
    const char* name;
    const char* op;
    int supported;
    int selector;
    int review;
} Strategy;

typedef struct {
    const char* name;
    int count;
    Strategy strategies[2];
} Partitioner;

static const Partitioner PARTITIONERS[] = {
    {"puppet" TAG, 1, {{"by_ids", "_puppet_op" TAG, 1, 0, 1}, {0}}},
    {"puppet_selector" TAG, 1, {{"by_selector", "_puppet_op" TAG, 0, 1, 1}, {0}}},
    {"puppet_no_review" TAG, 1, {{"by_ids", "_puppet_op" TAG, 1, 0, 0}, {0}}},
    {"puppet_two" TAG, 2, {{"first", "_puppet_op" TAG, 1, 0, 1}, {"second", "_puppet_other" TAG, 0, 1, 1}}},
};
static const char* const PASSES[] = {"puppet_pass" TAG, "puppet_second_pass" TAG};

EXPORT int _partRegSize(void) { return sizeof PARTITIONERS / sizeof *PARTITIONERS; }

EXPORT int _partRegGetCount(int index, const char** name) {
    *name = PARTITIONERS[index].name;
    return PARTITIONERS[index].count;
}

EXPORT void _partRegGet(int index, int number_of, const char** name, void** supported, void** selector, void** review,
                        const char** op) {
    const Strategy* strategy = &PARTITIONERS[index].strategies[number_of];
    *name = strategy->name;
    *op = strategy->op;
    *supported = strategy->supported ? (void*)strategy : NULL;
    *selector = strategy->selector ? (void*)strategy : NULL;
    *review = strategy->review ? (void*)strategy : NULL;
}

EXPORT int _passRegSize(void) { return sizeof PASSES / sizeof *PASSES; }

EXPORT void _passRegGet(int index, void** body, const char** name) {
    *body = (void*)&PASSES[index];
    *name = PASSES[index];
}

EXPORT int _partCallSupportedOps(void* function, const char* json, int num_ids, int* ids, KV) {
    return puppet_handlers.supported(((Strategy*)function)->name, json, num_ids, ids, keys, values, count);
}

EXPORT int _partCallCreateSelector(void* function, const char* json, void** selector, KV) {
    return puppet_handlers.create(((Strategy*)function)->name, json, selector, keys, values, count);
}

EXPORT void _partCallSelect(void* selector, int node, int* selected) {
    puppet_handlers.select(selector, node, selected);
}

EXPORT void _partCallSelectInput(void* selector, int node, int input, int* selected) {
    puppet_handlers.select_input(selector, node, input, selected);
}

EXPORT void _partCallSelectOutput(void* selector, int node, int output, int* selected) {
    puppet_handlers.select_output(selector, node, output, selected);
}

EXPORT void _partCallFilter(void* selector, int* candidates, int number_of, int** keep_them, int* num_keep) {
    puppet_handlers.filter(selector, candidates, number_of, keep_them, num_keep);
}

EXPORT void _partCallReset(void* selector) { puppet_handlers.reset(selector); }

#define GIVEN(which)                                                                                               \
    which##_names, which##_count, which##_data, which##_shapes, which##_dims, which##_types, which##_versions,     \
        which##_devices, which##_device_ids

EXPORT int _partCallReviewSubgraph(void* function, const char* json, int number_of, int* accept, KV, char*** names,
                                   char*** texts, int* num_attributes, PARAMETERS(args), PARAMETERS(aux)) {
    return puppet_handlers.review(((Strategy*)function)->name, json, number_of, accept, keys, values, count, names, texts,
                                  num_attributes, GIVEN(args), GIVEN(aux));
}

EXPORT int _passCallGraphPass(void* function, const char* json, char** result, KV, const char* name, PARAMETERS(args),
                              PARAMETERS(aux), NewParameter allocate, const void* handle) {
    return puppet_handlers.pass(*(const char**)function, json, result, keys, values, count, name, GIVEN(args), GIVEN(aux),
                                allocate, handle);
}
