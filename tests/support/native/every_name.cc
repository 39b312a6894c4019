// Every name that sources for MXNet 1.9 may use of the header, used as they use it: it need only compile. It
// does with MXNet's own header as well.
#include "mxnet/lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<std::vector<unsigned int>> Shapes;

// The standard headers that come with it.
static_assert(sizeof(uint32_t) == 4, "stdint.h");
std::unordered_set<int> a_set;
std::map<int, std::function<void()>> a_map;
std::pair<int, int> a_pair = std::make_pair(abs(-1), 2);

// ---- what is registered
// ------------------------------------------------------------------------------------

MXReturnValue forward(const Attributes&, std::vector<MXTensor>*, std::vector<MXTensor>*, const OpResource&) {
  return MX_SUCCESS;
}
MXReturnValue parse(const Attributes&, int*, int*) { return MX_FAIL; }
MXReturnValue types(const Attributes&, std::vector<int>*, std::vector<int>*) { return MX_SUCCESS; }
MXReturnValue shapes(const Attributes&, Shapes*, Shapes*) { return MX_SUCCESS; }
MXReturnValue mutate(const Attributes&, std::vector<int>*) { return MX_SUCCESS; }

class State : public CustomStatefulOp {
 public:
  State(int first, std::string second) : CustomStatefulOp() {
    ignore_warn = first > 0 && second.empty() && !wasCreated();
  }
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                        const OpResource& resource) override {
    return CustomStatefulOp::Backward(inputs, outputs, resource);
  }
};
MXReturnValue create(const Attributes&, const MXContext&, const Shapes&, const std::vector<int>,
                     CustomStatefulOp** state) {
  *state = CustomStatefulOp::create<State>(1, std::string("two"));
  return MX_SUCCESS;
}

class Selector : public CustomOpSelector {
 public:
  bool Select(int) override { return true; }
  bool SelectInput(int, int) override { return true; }
  bool SelectOutput(int, int) override { return true; }
  void Filter(const std::vector<int>& candidates, std::vector<int>* keep) override {
    CustomOpSelector::Filter(candidates, keep);
  }
  void Reset() override { CustomOpSelector::Reset(); }
};
MXReturnValue supported(const Graph*, std::vector<int>*, const Attributes&) { return MX_SUCCESS; }
MXReturnValue selecting(const Graph*, CustomOpSelector** selector, const Attributes&) {
  *selector = new Selector;
  return MX_SUCCESS;
}
MXReturnValue review(const Graph*, int, bool*, const Attributes&, Attributes*) { return MX_SUCCESS; }
MXReturnValue pass(Graph*, const Attributes&) { return MX_SUCCESS; }

fcomp_t a_forward = forward;
parseAttrs_t a_parse = parse;
inferType_t a_type = types;
inferSType_t a_storage_type = types;
inferShape_t a_shape = shapes;
mutateInputs_t a_mutate = mutate;
createOpState_t a_create = create;
supportedOps_t a_supported = supported;
createSelector_t a_selecting = selecting;
reviewSubgraph_t a_review = review;
graphPass_t a_pass = pass;

REGISTER_OP(every_name)
    .setForward(forward, "cpu")
    .setBackward(forward, "cpu")
    .setParseAttrs(parse)
    .setInferType(types)
    .setInferSType(types)
    .setInferShape(shapes)
    .setMutateInputs(mutate)
    .setCreateOpState(create, "gpu");
REGISTER_OP(every_subgraph).setIsSubgraphOp().setCreateOpState(create, "cpu");
REGISTER_PARTITIONER(every_partitioner)
    .addStrategy("one", "every_subgraph")
    .setSupportedOps("one", supported)
    .setCreateSelector("one", selecting)
    .setReviewSubgraph("one", review);
REGISTER_PASS(every_pass).setBody(pass);

// ---- classes
// -----------------------------------------------------------------------------------------------

void contexts_and_tensors() {
  MXContext none, made(std::string("cpu"), 0), same("cpu", 0);
  const std::vector<MXContext> contexts = {MXContext::CPU(), MXContext::GPU(), MXContext::CPU(1),
                                           MXContext::GPU(1)};
  none.dev_type = made.dev_type;
  none.dev_id = contexts[0].dev_id;
  const int64_t dims[] = {2, 3};
  int64_t indices[] = {0}, starts[] = {0};
  float numbers[6];
  MXSparse sparse;
  sparse.set(numbers, dims, 2, indices, 1);
  sparse.set(numbers, dims, 2, indices, 1, starts, 1);
  sparse.data = sparse.indices = sparse.indptr;
  sparse.data_len = sparse.indices_len = sparse.indptr_len;
  MXTensor empty, tensor(numbers, {2, 3}, kFloat32, 1, same),
      stored(&sparse, {2, 3}, kFloat32, 1, same, kCSRStorage);
  MXTensor copied(tensor);
  empty.setTensor(numbers, kFloat64, dims, 2, 1, MXContext::CPU(0), kRowSparseStorage);
  empty.setDLTensor();
  empty = copied;
  const bool equal =
      empty.isSame(tensor) && tensor.data<float>() == tensor.data_ptr && tensor.size() == tensor.shape[0];
  if (equal && tensor.dtype == kUNSET && tensor.verID == 1 && tensor.stype == kDefaultStorage) {
    const DLTensor& view = tensor.dltensor;
    const DLContext& device = view.ctx;
    const DLDataType& type = view.dtype;
    const bool known =
        device.device_type == kDLCPU && type.code == kDLFloat && type.bits == 32 && type.lanes == 1;
    if (known && !view.strides && view.shape && view.ndim + device.device_id && !view.byte_offset) return;
  }
  const std::vector<MXDType> dtypes = {kFloat32, kFloat64, kFloat16, kUint8, kInt32, kInt8, kInt64, kUNSET};
  const std::vector<DLDeviceType> devices = {kDLCPU,   kDLGPU, kDLCPUPinned, kDLOpenCL, kDLVulkan,
                                             kDLMetal, kDLVPI, kDLROCM,      kDLExtDev};
  const std::vector<DLDataTypeCode> codes = {kDLInt, kDLUInt, kDLFloat};
  if (dtypes.size() + devices.size() + codes.size() + sizeof(MXStorageType) == DLPACK_VERSION) abort();
}

void* allocate(void*, int) { return nullptr; }
void allocate_sparse(void*, int, int, int, void**, int64_t**, int64_t**) {}
void allocate_parameter(const void*, const int64_t*, int, const char*, int, int, const char*, int, void**) {}

void resources() {
  xpu_malloc_t for_any = allocate;
  sparse_malloc_t for_sparse = allocate_sparse;
  nd_malloc_t for_parameters = allocate_parameter;
  const OpResource operators(for_any, nullptr, for_any, nullptr, nullptr, for_sparse, nullptr, nullptr,
                             nullptr);
  MXSparse sparse;
  void* const memory = operators.alloc_cpu(8) == nullptr ? operators.alloc_gpu(8) : nullptr;
  mx_stream_t stream = operators.get_cuda_stream();
  operators.alloc_sparse(&sparse, 0, 1);
  operators.alloc_sparse(&sparse, 0, 1, 2);
  mx_cpu_rand_t* const states = operators.get_cpu_rand_states();
  mx_gpu_rand_t* const others = operators.get_gpu_rand_states();
  if (memory != nullptr || stream != nullptr || others != nullptr)
    states[MX_NUM_CPU_RANDOM_STATES - 1].seed(1);
  std::unordered_map<std::string, MXTensor> arguments, auxiliary;
  const PassResource passes(&arguments, &auxiliary, for_parameters, nullptr);
  MXTensor* const made = passes.alloc_arg("a", {2}, MXContext::CPU(0), kFloat32);
  if (made != passes.alloc_aux("b", {2}, MXContext::CPU(0), kFloat32)) abort();
}

void graphs(const std::string& text) {
  Graph* const graph = Graph::fromString(text);
  const Graph* const same = graph;
  Graph* const other = Graph::fromJson(graph->toJson());
  Node* const node = graph->addNode("name", "op");
  const NodeEntry edge = {node, 1};
  graph->getNode(0)->inputs.push_back(edge);
  node->outputs.push_back({graph->getNode(0), same->getNode(0)->inputs[0].entry});
  node->attrs[node->op] = node->name + same->getAttr("a").str + same->toString();
  node->subgraphs.push_back(other);
  node->alloc_arg({2}, MXContext::CPU(0), kFloat32);
  node->alloc_aux({2}, MXContext::CPU(0), kFloat32);
  if (node->tensor != nullptr) graph->inputs = same->topological_sort();
  graph->outputs.push_back(edge);
  graph->attrs["a"] = JsonVal(static_cast<int>(graph->size()));
  same->DFS([](Node* each) { each->name += "_"; });
  same->print();
  same->print(2);
  delete graph;
}

std::string json(const std::string& text) {
  unsigned int position = 0;
  std::vector<JsonVal> values = {JsonVal(), JsonVal(MAP), JsonVal("text"), JsonVal(1),
                                 JsonVal(NUM, 1, "1.5")};
  values.push_back(JsonVal::parse(text));
  values.push_back(JsonVal::parse(text, &position));
  values.push_back(JsonVal::parse_string(text, &position));
  values.push_back(JsonVal::parse_num(text, &position));
  values.push_back(JsonVal::parse_list(text, &position));
  values.push_back(JsonVal::parse_map(text, &position));
  JsonVal& value = values[0];
  value.map[JsonVal("key")] = values[1] < values[2] ? values[1] : values[2];
  value.list.push_back(values[3]);
  value.type = value.num == 0 ? ERR : value.num == 1 ? STR : value.num == 2 ? LIST : NUM;
  return value.str + value.dump() + value.toString();
}

PRIVATE_SYMBOL int messages_and_registries() {
  MX_ERROR_MSG << "expected " << 2;
  MXerrorMsgs* const messages = MXerrorMsgs::get();
  messages->add(__FILE__, __LINE__) << *messages->get(messages->size() - 1);
  CustomOp& first = Registry<CustomOp>::get()->get(0);
  CustomOp& second = Registry<CustomOp>::get()->add("every_other");
  CustomPartitioner& partitioner = Registry<CustomPartitioner>::get()->get(0);
  const bool complete =
      partitioner.getSupportedOps(0) && partitioner.getCreateSelector(0) && partitioner.getReviewSubgraph(0);
  return &first == &second && complete ? Registry<CustomPass>::get()->size() : 0;
}

const std::string an_element = getShapeAt("[[3,2],[4]]", 1) + getDtypeAt("[0,6]", 0);

// ---- macros, and what loads libraries
// ----------------------------------------------------------------------

MX_INT_RET MX_STR_CONCAT(every_, result)() { return MX_LIBRARY_VERSION + MX_NUM_GPU_RANDOM_STATES; }
MX_VOID_RET every_nothing() {}
const char* a_few[] = {MX_STR_SUBGRAPH_SYM_JSON, MX_STR_DTYPE,    MX_STR_SHAPE,
                       MX_STR_EXTRA_INPUTS,      MX_STRINGIFY(x), MX_TOSTRING(MX_LIBRARY_VERSION)};

template <class Function>
struct Symbol {
  const char* name;
  Function function;
};
Symbol<opVersion_t> s0 = {MXLIB_OPVERSION_STR, nullptr};
Symbol<initialize_t> s1 = {MXLIB_INITIALIZE_STR, nullptr};
Symbol<msgSize_t> s2 = {MXLIB_MSGSIZE_STR, nullptr};
Symbol<msgGet_t> s3 = {MXLIB_MSGGET_STR, nullptr};
Symbol<opRegSize_t> s4 = {MXLIB_OPREGSIZE_STR, nullptr};
Symbol<opRegGet_t> s5 = {MXLIB_OPREGGET_STR, nullptr};
Symbol<opCallFree_t> s6 = {MXLIB_OPCALLFREE_STR, nullptr};
Symbol<opCallParseAttrs_t> s7 = {MXLIB_OPCALLPARSEATTRS_STR, nullptr};
Symbol<opCallInferShape_t> s8 = {MXLIB_OPCALLINFERSHAPE_STR, nullptr};
Symbol<opCallInferType_t> s9 = {MXLIB_OPCALLINFERTYPE_STR, nullptr};
Symbol<opCallInferSType_t> s10 = {MXLIB_OPCALLINFERSTYPE_STR, nullptr};
Symbol<opCallMutateInputs_t> s11 = {MXLIB_OPCALLMUTATEINPUTS_STR, nullptr};
Symbol<opCallFComp_t> s12 = {MXLIB_OPCALLFCOMP_STR, nullptr};
Symbol<opCallCreateOpState_t> s13 = {MXLIB_OPCALLCREATEOPSTATE_STR, nullptr};
Symbol<opCallDestroyOpState_t> s14 = {MXLIB_OPCALLDESTROYOPSTATE_STR, nullptr};
Symbol<opCallFStatefulComp_t> s15 = {MXLIB_OPCALLFSTATEFULCOMP_STR, nullptr};
Symbol<partRegSize_t> s16 = {MXLIB_PARTREGSIZE_STR, nullptr};
Symbol<partRegGetCount_t> s17 = {MXLIB_PARTREGGETCOUNT_STR, nullptr};
Symbol<partRegGet_t> s18 = {MXLIB_PARTREGGET_STR, nullptr};
Symbol<partCallSupportedOps_t> s19 = {MXLIB_PARTCALLSUPPORTEDOPS_STR, nullptr};
Symbol<partCallCreateSelector_t> s20 = {MXLIB_PARTCALLCREATESELECTOR_STR, nullptr};
Symbol<partCallSelect_t> s21 = {MXLIB_PARTCALLSELECT_STR, nullptr};
Symbol<partCallSelectInput_t> s22 = {MXLIB_PARTCALLSELECTINPUT_STR, nullptr};
Symbol<partCallSelectOutput_t> s23 = {MXLIB_PARTCALLSELECTOUTPUT_STR, nullptr};
Symbol<partCallFilter_t> s24 = {MXLIB_PARTCALLFILTER_STR, nullptr};
Symbol<partCallReset_t> s25 = {MXLIB_PARTCALLRESET_STR, nullptr};
Symbol<partCallReviewSubgraph_t> s26 = {MXLIB_PARTCALLREVIEWSUBGRAPH_STR, nullptr};
Symbol<passRegSize_t> s27 = {MXLIB_PASSREGSIZE_STR, nullptr};
Symbol<passRegGet_t> s28 = {MXLIB_PASSREGGET_STR, nullptr};
Symbol<passCallGraphPass_t> s29 = {MXLIB_PASSCALLGRAPHPASS_STR, nullptr};

MXReturnValue initialize(int version) { return version >= 10900 ? MX_SUCCESS : MX_FAIL; }
