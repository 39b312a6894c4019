/* Operators that fail where an attribute says so, and that answer what no host can use. */
#define RAW_SPOILS
#include "raw.h"

static bool asked(const Attributes* a, const char* key, const char* value) {
    return strcmp(attribute(a, key, ""), value) == 0;
}

/* Fail at a place: `at` names it, `message` is what is said (nothing if it is not there), `messages` how often. */
static int pass_or_fail(const Attributes* a, const char* place) {
    if (!asked(a, "at", place)) return SUCCESS;
    const char* message = attribute(a, "message", NULL);
    if (!message) return FAIL;
    if (strcmp(message, "invalid") == 0) message = "broken \xff\xfe bytes \xc3";
    int times = (int)number(a, "messages", 1);
    for (int i = 1; i < times; ++i) add_message(__FILE__, __LINE__, "%s, %d of %d", message, i, times);
    REFUSE("%s", message);
}

static int parse(const Attributes* a, int* num_in, int* num_out) {
    *num_in = *num_out = 1;
    return pass_or_fail(a, "parse");
}

static int shape(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    for (int i = 0; i < num_out; ++i) out[i] = in[0];
    (void)num_in;
    return pass_or_fail(a, "shape");
}

static int type(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    for (int i = 0; i < num_out; ++i) out[i] = in[0];
    (void)num_in;
    return pass_or_fail(a, "type");
}

static int storage(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    for (int i = 0; i < num_out; ++i) out[i] = in[0];
    (void)num_in;
    return pass_or_fail(a, "storage");
}

static int mutate(const Attributes* a, int* indices) {
    (void)indices;
    return pass_or_fail(a, "mutate") ? 0 : -1;
}

static int forward(Call* call) {
    size_t bytes = size_of(call->in) * width_of(call->in->dtype);
    if (bytes) memcpy(call->out->data, call->in->data, bytes);
    return pass_or_fail(&call->attributes, "forward");
}

static int backward(Call* call) {
    size_t bytes = size_of(call->in) * width_of(call->in->dtype);
    if (bytes) memcpy(call->out->data, call->in->data, bytes);
    return pass_or_fail(&call->attributes, "backward");
}

/* A state knows its attributes by where it fails. */
enum { NOWHERE, AT_FORWARD, AT_BACKWARD, AT_SECOND_FORWARD };

static int create(const Attributes* a, State* state) {
    state->number = asked(a, "at", "forward")          ? AT_FORWARD
                    : asked(a, "at", "backward")       ? AT_BACKWARD
                    : asked(a, "at", "second_forward") ? AT_SECOND_FORWARD
                                                       : NOWHERE;
    return pass_or_fail(a, "create");
}

static int state_forward(Call* call) {
    if (call->state->number == AT_FORWARD) REFUSE("the state refuses forward");
    if (call->state->number == AT_SECOND_FORWARD && call->state->forwards == 1) REFUSE("the state refuses to go on");
    return forward(call);
}

static int state_backward(Call* call) {
    if (call->state->number == AT_BACKWARD) REFUSE("the state refuses backward");
    return backward(call);
}

/* -- answers that cannot be used: `what` says which ----------------------------------------------------------------- */

static int nonsense_parse(const Attributes* a, int* num_in, int* num_out) {
    if (asked(a, "what", "nothing")) return SUCCESS;
    *num_in = *num_out = 1;
    if (asked(a, "what", "no_outputs")) *num_out = 0;
    if (asked(a, "what", "negative_outputs")) *num_out = -2;
    if (asked(a, "what", "many_outputs")) *num_out = 2000000000;
    if (asked(a, "what", "negative_inputs")) *num_in = -2;
    if (asked(a, "what", "many_inputs")) *num_in = 2000000000;
    return SUCCESS;
}

static int nonsense_shape(const Attributes* a, Shape* in, int num_in, Shape* out, int num_out) {
    shape(a, in, num_in, out, num_out);
    if (asked(a, "what", "changed_input")) {
        in->ndim = 2;
        in->dims[0] = 7;
        in->dims[1] = 8;
    }
    if (asked(a, "what", "unknown_length")) out->dims[0] = UINT32_MAX;
    if (asked(a, "what", "huge")) {
        out->ndim = 3;
        out->dims[0] = out->dims[1] = out->dims[2] = UINT32_MAX - 1;
    }
    if (asked(a, "what", "many_dimensions")) {
        out->ndim = MAX_DIMS;
        for (int i = 0; i < MAX_DIMS; ++i) out->dims[i] = 1;
    }
    return SUCCESS;
}

static int nonsense_type(const Attributes* a, int* in, int num_in, int* out, int num_out) {
    (void)num_in, (void)num_out;
    *out = (int)number(a, "dtype", in[0]);
    if (asked(a, "what", "changed_input_type")) *in = *in == FLOAT64 ? FLOAT32 : FLOAT64;
    return SUCCESS;
}

static int nonsense_mutate(const Attributes* a, int* indices) {
    (void)a;
    indices[0] = (int)number(a, "index", 0);
    indices[1] = (int)number(a, "index", 0);
    return (int)number(a, "mutated", 0);
}

static int keep(const Attributes* a, State* state) {
    (void)a, (void)state;
    return SUCCESS;
}

static void drop(void* block) { _opCallFree(block); }

static void spoil_shapes(const Attributes* a, unsigned int*** in_shapes, int** in_dims, unsigned int*** out_shapes,
                         int** out_dims) {
    (void)in_shapes;
    if (asked(a, "what", "null_shapes")) {
        drop((*out_shapes)[0]);
        drop(*out_shapes);
        *out_shapes = NULL;
    }
    if (asked(a, "what", "null_shape")) {
        drop((*out_shapes)[0]);
        (*out_shapes)[0] = NULL;
    }
    if (asked(a, "what", "null_dimensions")) {
        drop(*out_dims);
        *out_dims = NULL;
    }
    if (asked(a, "what", "null_input_dimensions")) {
        drop(*in_dims);
        *in_dims = NULL;
    }
    if (asked(a, "what", "negative_dimensions")) (*out_dims)[0] = -3;
    if (asked(a, "what", "billions_of_dimensions")) (*out_dims)[0] = 2000000000;
}

static void spoil_indices(const Attributes* a, int** indices, int* number_of) {
    if (asked(a, "what", "null_indices")) {
        drop(*indices);
        *indices = NULL;
        *number_of = 2;
    }
    if (asked(a, "what", "negative_mutated")) *number_of = -1;
    if (asked(a, "what", "billions_mutated")) *number_of = 2000000000;
}

#define NAME(name) "raw_" name TAG

const Operator OPERATORS[] = {
    {NAME("fail"), parse, shape, type, forward, backward},
    {NAME("fail_mutate"), parse, shape, type, forward, backward, .mutate = mutate},
    {NAME("fail_storage"), parse, shape, type, forward, backward, .storage = storage},
    {NAME("fail_state"), parse, shape, type, state_forward, state_backward, .create = create},
    {NAME("state_without_gradient"), parse, shape, type, state_forward, NULL, .create = create},
    {NAME("nonsense"), nonsense_parse, nonsense_shape, nonsense_type, forward, backward},
    {NAME("nonsense_mutate"), nonsense_parse, nonsense_shape, nonsense_type, forward, backward, .mutate = nonsense_mutate},
    {NAME("nonsense_state"), nonsense_parse, nonsense_shape, nonsense_type, forward, backward, .create = keep},
};
const int NUM_OPERATORS = sizeof OPERATORS / sizeof *OPERATORS;
