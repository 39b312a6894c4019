// Partitioners, passes, graphs and JSON, as a source for MXNet 1.9 uses them. The second source file of its
// library, with surface.cc.
#include <algorithm>
#include <cmath>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

std::string option(const std::unordered_map<std::string, std::string>& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

bool wanted(const Node* node) { return node->op == "exp" || node->op == "log"; }

// ---- an operator that runs a subgraph
// ----------------------------------------------------------------------

/// Runs `exp`, `log` and `elemwise_add` of float32.
class GraphRunner : public CustomStatefulOp {
 public:
  explicit GraphRunner(const std::string& json) : graph_(Graph::fromString(json)) {}
  ~GraphRunner() { delete graph_; }

  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
    std::map<const Node*, std::vector<float>> values;
    for (size_t i = 0; i < graph_->inputs.size(); ++i) {
      const float* data = inputs->at(i).data<float>();
      values[graph_->inputs[i]].assign(data, data + inputs->at(i).size());
    }
    std::vector<Node*> order = graph_->topological_sort();
    for (auto position = order.rbegin(); position != order.rend(); ++position) {
      const Node* node = *position;
      if (node->op == "null") continue;
      std::vector<float>& result = values[node] = values.at(node->inputs.at(0).node);
      for (size_t i = 0; i < result.size(); ++i) {
        if (node->op == "exp") {
          result[i] = std::exp(result[i]);
        } else if (node->op == "log") {
          result[i] = std::log(result[i]);
        } else if (node->op == "elemwise_add") {
          result[i] += values.at(node->inputs.at(1).node)[i];
        } else {
          MX_ERROR_MSG << "cannot run " << node->op;
          return MX_FAIL;
        }
      }
    }
    for (size_t i = 0; i < graph_->outputs.size(); ++i) {
      const std::vector<float>& result = values.at(graph_->outputs[i].node);
      std::copy(result.begin(), result.end(), outputs->at(i).data<float>());
    }
    return MX_SUCCESS;
  }

 private:
  Graph* graph_;
};

MXReturnValue create_runner(const std::unordered_map<std::string, std::string>& attributes, const MXContext&,
                            const std::vector<std::vector<unsigned int>>&, const std::vector<int>,
                            CustomStatefulOp** state) {
  if (attributes.count(MX_STR_SUBGRAPH_SYM_JSON) == 0) {
    MX_ERROR_MSG << "no subgraph";
    return MX_FAIL;
  }
  *state = CustomStatefulOp::create<GraphRunner>(attributes.at(MX_STR_SUBGRAPH_SYM_JSON));
  return MX_SUCCESS;
}

REGISTER_OP(_s_run).setIsSubgraphOp().setCreateOpState(create_runner, "cpu");

// ---- a partitioner, by ids and by a selector
// ---------------------------------------------------------------

MXReturnValue supported(const Graph* graph, std::vector<int>* ids,
                        const std::unordered_map<std::string, std::string>& options) {
  if (option(options, "fail") == "supported") throw std::runtime_error("thrown in supported");
  for (size_t i = 0; i < graph->size(); ++i) {
    if (wanted(graph->getNode(i)))
      ids->at(i) = option(options, "group") == "True" ? static_cast<int>(i % 2) : -1;
  }
  if (option(options, "fail") == "count") ids->push_back(0);
  return option(options, "fail") == "status" ? MX_FAIL : MX_SUCCESS;
}

class Selector : public CustomOpSelector {
 public:
  Selector(const Graph* graph, const std::unordered_map<std::string, std::string>& options)
      : graph_(graph),
        fail_(option(options, "fail")),
        single_(option(options, "single") == "True"),
        resets_(0) {}

  bool Select(int node) {
    if (fail_ == "select") throw std::runtime_error("thrown in Select");
    return wanted(graph_->getNode(static_cast<size_t>(node)));
  }
  bool SelectInput(int, int input) {
    if (fail_ == "input") throw std::runtime_error("thrown in SelectInput");
    return Select(input);
  }
  bool SelectOutput(int, int output) {
    if (fail_ == "output") throw std::runtime_error("thrown in SelectOutput");
    return Select(output);
  }
  void Filter(const std::vector<int>& candidates, std::vector<int>* keep) {
    if (fail_ == "filter") throw std::runtime_error("thrown in Filter");
    if (single_) {
      keep->push_back(candidates.at(0));
    } else {
      CustomOpSelector::Filter(candidates, keep);
    }
  }
  void Reset() {
    if (fail_ == "reset") throw std::runtime_error("thrown in Reset");
    ++resets_;
  }

 private:
  const Graph* graph_;
  std::string fail_;
  bool single_;
  int resets_;
};

MXReturnValue create_selector(const Graph* graph, CustomOpSelector** selector,
                              const std::unordered_map<std::string, std::string>& options) {
  if (option(options, "fail") == "create") throw std::runtime_error("thrown in createSelector");
  // Selectors are nobody's to delete; the next one takes its place.
  static std::vector<Selector> made;
  made.clear();
  made.push_back(Selector(graph, options));
  *selector = &made.back();
  return MX_SUCCESS;
}

MXReturnValue review(const Graph* subgraph, int id, bool* accept,
                     const std::unordered_map<std::string, std::string>& options,
                     std::unordered_map<std::string, std::string>* attrs) {
  if (option(options, "fail") == "review") throw std::runtime_error("thrown in review");
  std::string values;
  for (const Node* input : subgraph->inputs) {
    values +=
        input->name + ":" + (input->tensor ? std::to_string(input->tensor->data<float>()[0]) : "-") + " ";
  }
  (*attrs)["values"] = values;
  (*attrs)["id"] = std::to_string(id);
  if (option(options, "reject") != std::to_string(id)) *accept = true;
  return MX_SUCCESS;
}

REGISTER_PARTITIONER(s_partitioner)
    .addStrategy("by_id", "_s_run")
    .setSupportedOps("by_id", supported)
    .setReviewSubgraph("by_id", review);

REGISTER_PARTITIONER(s_selecting)
    .addStrategy("by_selector", "_s_run")
    .setCreateSelector("by_selector", create_selector)
    .addStrategy("second", "_s_run")
    .setSupportedOps("second", supported);

// ---- passes
// ------------------------------------------------------------------------------------------------

MXReturnValue same(Graph*, const std::unordered_map<std::string, std::string>&) { return MX_SUCCESS; }

/// The head times a new argument, which holds `scale`, plus a new auxiliary state of zeros.
MXReturnValue scale_head(Graph* graph, const std::unordered_map<std::string, std::string>& options) {
  Node* variable = graph->addNode("s_scale", "null");
  variable->alloc_arg({1}, MXContext::CPU(0), kFloat32);
  variable->tensor->data<float>()[0] = std::stof(option(options, "scale"));
  Node* state = graph->addNode("s_state", "null");
  state->alloc_aux({2, 1}, MXContext::CPU(), kFloat64);
  std::fill_n(state->tensor->data<double>(), state->tensor->size(), 0.5);
  graph->inputs.push_back(variable);
  graph->inputs.push_back(state);

  Node* product = graph->addNode("s_product", "broadcast_mul");
  const NodeEntry head = graph->outputs.at(0);
  product->inputs.push_back(head);
  head.node->outputs.push_back({product, 0});
  product->inputs.push_back({variable, 0});
  variable->outputs.push_back({product, 1});
  product->attrs["made"] = "by the pass";
  graph->outputs[0] = {product, 0};
  return MX_SUCCESS;
}

/// Everything that a pass can read, as messages and on the standard output.
MXReturnValue describe(Graph* graph, const std::unordered_map<std::string, std::string>&) {
  std::ostringstream text;
  const Graph* constant = graph;
  text << constant->size() << " nodes;";
  for (size_t i = 0; i < constant->size(); ++i) {
    const Node* node = constant->getNode(i);
    text << " " << node->name << "(" << node->op;
    for (const NodeEntry& input : node->inputs) text << " <" << input.node->name << "." << input.entry;
    for (const NodeEntry& output : node->outputs) text << " >" << output.node->name << "." << output.entry;
    const std::map<std::string, std::string> sorted(node->attrs.begin(), node->attrs.end());
    for (const auto& attribute : sorted) text << " " << attribute.first << "=" << attribute.second;
    if (node->tensor != nullptr) text << " tensor of " << node->tensor->size();
    for (const Graph* subgraph : node->subgraphs) text << " {" << subgraph->toString() << "}";
    text << ")";
  }
  text << "; DFS";
  constant->DFS([&](Node* node) { text << " " << node->name; });
  text << "; order";
  for (const Node* node : constant->topological_sort()) text << " " << node->name;
  text << "; inputs";
  for (const Node* node : graph->inputs) text << " " << node->name;
  text << "; attributes";
  for (const auto& attribute : graph->attrs) text << " " << attribute.first << "=" << attribute.second.dump();
  MX_ERROR_MSG << text.str();
  MX_ERROR_MSG << graph->toJson().toString();
  graph->print();
  graph->print(3);
  return MX_SUCCESS;
}

/// What the JSON in option `text` is.
MXReturnValue read_json(Graph*, const std::unordered_map<std::string, std::string>& options) {
  const JsonVal value = JsonVal::parse(option(options, "text"));
  MX_ERROR_MSG << value.type << " " << value.num << " " << value.str << " " << value.list.size() << " "
               << value.map.size() << " " << value.dump() << " " << value.toString();
  return MX_SUCCESS;
}

/// JSON made by hand, and its order.
MXReturnValue make_json(Graph*, const std::unordered_map<std::string, std::string>&) {
  JsonVal map(MAP), list(LIST);
  list.list = {JsonVal(1), JsonVal(std::string("two")), JsonVal(STR, -1, "three"), JsonVal(LIST),
               JsonVal(MAP)};
  map.map[JsonVal("list")] = list;
  map.map[JsonVal("a")] = JsonVal(-3);
  MX_ERROR_MSG << map.dump() << " " << map.toString() << " " << JsonVal().toString() << " "
               << (JsonVal("a") < JsonVal("b")) << (JsonVal("b") < JsonVal("a"))
               << (JsonVal(2) < JsonVal(10));
  MX_ERROR_MSG << getShapeAt("[[3,2],[4]]", 0) << getShapeAt("[[3,2],[4]]", 1) << getShapeAt("[[]]", 0) << " "
               << getDtypeAt("[0,6]", 0) << " " << getDtypeAt("[0,6]", 1);
  return MX_SUCCESS;
}

/// Ways to be wrong: option `how`.
MXReturnValue go_wrong(Graph* graph, const std::unordered_map<std::string, std::string>& options) {
  const std::string how = option(options, "how");
  if (how == "throw") throw std::runtime_error("thrown in a pass");
  if (how == "message") MX_ERROR_MSG << "refused";
  if (how == "cycle") {
    Node *a = graph->addNode("circle", "exp"), *b = graph->addNode("back", "log");
    a->inputs.push_back({b, 0});
    b->outputs.push_back({a, 0});
    b->inputs.push_back({a, 0});
    a->outputs.push_back({b, 0});
    return MX_SUCCESS;
  }
  if (how == "no node") {
    graph->outputs.push_back({nullptr, 0});
    return MX_SUCCESS;
  }
  if (how == "outside") {
    Node alone;
    alone.alloc_arg({1}, MXContext::CPU(0), kFloat32);
  }
  if (how == "dtype") graph->addNode("bad", "null")->alloc_arg({1}, MXContext::CPU(0), kUNSET);
  if (how == "memory") graph->addNode("big", "null")->alloc_arg({1 << 20}, MXContext::CPU(0), kFloat32);
  if (how == "attribute") MX_ERROR_MSG << graph->getAttr("absent").dump();
  if (how == "one side") {  // an edge that only its consumer knows of
    Node *variable = graph->addNode("late", "null"), *log = graph->addNode("lone", "log");
    log->inputs.push_back({variable, 0});
    graph->outputs.push_back({log, 0});
    return MX_SUCCESS;
  }
  if (how == "many nodes") {
    Node* last = graph->outputs.at(0).node;
    for (int i = 0; i < 20000; ++i) {
      Node* next = graph->addNode("n" + std::to_string(i), "exp");
      next->inputs.push_back({last, 0});
      last->outputs.push_back({next, 0});
      last = next;
    }
    return MX_SUCCESS;
  }
  return MX_FAIL;
}

REGISTER_PASS(s_same).setBody(same);
REGISTER_PASS(s_scale_head).setBody(scale_head);
REGISTER_PASS(s_describe).setBody(describe);
REGISTER_PASS(s_read_json).setBody(read_json);
REGISTER_PASS(s_make_json).setBody(make_json);
REGISTER_PASS(s_go_wrong).setBody(go_wrong);

}  // namespace
