/* A library that registers itself wrongly: the environment variable RAW_WRONG says how, when it is loaded. */
#define RAW_OWN_VERSION
#define RAW_OWN_INITIALIZE
#define RAW_OWN_OPERATORS
#define RAW_OWN_REGISTRY
#include "raw.h"

const Operator OPERATORS[1];
const int NUM_OPERATORS = 0;
static int told_version = -1;

#ifdef UNRESOLVED
extern void function_that_nobody_defines(void);
EXPORT void raw_call_it(void) { function_that_nobody_defines(); }
#endif

static bool wrong(const char* how) {
    const char* asked = getenv("RAW_WRONG");
    return asked && strcmp(asked, how) == 0;
}

EXPORT int _opVersion(void) {
    const char* version = getenv("RAW_VERSION");
    return version ? atoi(version) : ABI;
}

EXPORT int initialize(int version) {
    told_version = version;
    if (wrong("refuses with a message")) REFUSE("needs a host of version 2.0, this one is %d", version);
    if (wrong("refuses in bytes")) REFUSE("\xff\xfe no");
    return !wrong("refuses");
}

EXPORT int raw_told_version(void) { return told_version; }

static int stub;

EXPORT int _opRegSize(void) {
    if (wrong("negative operators")) return -1;
    return wrong("no operators") || wrong("partitioner without strategies") || wrong("two partitioners") ||
                   wrong("two passes") || wrong("partitioner without name") || wrong("pass without name") ||
                   wrong("pass without body") || wrong("strategy without functions") || wrong("strategy without operator")
               ? 0
               : 2;
}

EXPORT void _opRegGet(int index, const char** name, int* is_subgraph, const char*** forward_contexts, void*** forwards,
                      int* forward_count, const char*** backward_contexts, void*** backwards, int* backward_count,
                      const char*** create_contexts, void*** creates, int* create_count, void** parse, void** type,
                      void** storage, void** shape, void** mutate) {
    static const char* CPU_ONLY[] = {"cpu"};
    static void* FUNCTIONS[] = {&stub};
    /* The first operator is in order: nothing of it may stay when the second is refused. */
    bool second = index == 1;
    *name = second ? "raw_registering_second" : "raw_registering_first";
    *is_subgraph = second && wrong("subgraph operator without state");
    *forward_contexts = *backward_contexts = *create_contexts = CPU_ONLY;
    *forwards = *backwards = *creates = FUNCTIONS;
    *forward_count = 1;
    *backward_count = *create_count = 0;
    *parse = *type = *shape = &stub;
    *storage = *mutate = NULL;
    if (!second) return;
    if (wrong("no name")) *name = NULL;
    if (wrong("empty name")) *name = "";
    if (wrong("name of bytes")) *name = "raw_\xff\xfe";
    if (wrong("name of spaces")) *name = "raw wrong name";
    if (wrong("name that exists")) *name = "dot";
    if (wrong("name of a function")) *name = "waitall";
    if (wrong("name of Custom")) *name = "Custom";
    if (wrong("name twice")) *name = "raw_registering_first";
    if (wrong("name of another library")) *name = "raw_affine";
    if (wrong("no parseAttrs")) *parse = NULL;
    if (wrong("no inferType")) *type = NULL;
    if (wrong("no inferShape")) *shape = NULL;
    if (wrong("no forward")) *forward_count = 0;
    if (wrong("negative forward")) *forward_count = -1;
    if (wrong("null context")) *forward_contexts = NULL;
}

static int partitioners(void) {
    if (wrong("two partitioners")) return 2;
    return wrong("partitioner without strategies") || wrong("partitioner without name") ||
           wrong("strategy without functions") || wrong("strategy without operator");
}

EXPORT int _partRegSize(void) { return partitioners(); }

EXPORT int _partRegGetCount(int index, const char** name) {
    (void)index;
    *name = wrong("partitioner without name") ? NULL : "raw_registering_partitioner";
    return !wrong("partitioner without strategies");
}

EXPORT void _partRegGet(int index, int strategy, const char** name, void** supported, void** selector, void** review,
                        const char** op) {
    (void)index, (void)strategy;
    *name = "only";
    *op = wrong("strategy without operator") ? NULL : "raw_registering_subgraph";
    *supported = wrong("strategy without functions") ? NULL : &stub;
    *selector = *review = NULL;
}

EXPORT int _passRegSize(void) {
    return wrong("two passes") ? 2 : wrong("pass without name") || wrong("pass without body");
}

EXPORT void _passRegGet(int index, void** body, const char** name) {
    (void)index;
    *body = wrong("pass without body") ? NULL : &stub;
    *name = wrong("pass without name") ? NULL : "raw_registering_pass";
}
