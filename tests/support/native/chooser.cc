// Partitioners whose choices are given as options.
#include <fstream>
#include <set>
#include <cstdlib>
#include "lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attrs;

static std::string option(const Attrs& options, const std::string& key) {
  auto found = options.find(key);
  return found == options.end() ? std::string() : found->second;
}

static std::vector<int> numbers(const std::string& text) {
  std::vector<int> found;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ','))
    if (!part.empty()) found.push_back(atoi(part.c_str()));
  return found;
}

static std::set<std::string> words(const std::string& text) {
  std::set<std::string> found;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) found.insert(part);
  return found;
}

static void log_line(const Attrs& options, const std::string& line) {
  std::string path = option(options, "log");
  if (!path.empty()) std::ofstream(path, std::ios::app) << line << "\n";
}

template <int N>
MXReturnValue supported(const Graph* graph, std::vector<int>* ids, const Attrs& options) {
  std::string which = N ? std::to_string(N) : "";
  std::set<std::string> ops = words(option(options, "ops" + which));
  std::vector<int> given = numbers(option(options, "ids" + which));
  for (size_t i = 0; i < graph->size(); i++) {
    if (!given.empty())
      ids->at(i) = i < given.size() ? given[i] : -2;
    else if (ops.count(graph->getNode(i)->op))
      ids->at(i) = -1;
  }
  log_line(options, "supported " + std::to_string(graph->size()));
  return MX_SUCCESS;
}

MXReturnValue review(const Graph* graph, int number, bool* accept, const Attrs& options, Attrs* attrs) {
  std::vector<int> rejected = numbers(option(options, "reject"));
  *accept = true;
  for (int one : rejected)
    if (one == number) *accept = false;
  std::string line = "review " + std::to_string(number) + " inputs";
  for (const Node* node : graph->inputs) {
    line += " " + node->name + (node->tensor ? "=" : "");
    if (node->tensor) for (auto n : node->tensor->shape) line += std::to_string(n) + ",";
  }
  log_line(options, line);
  if (!option(options, "mark").empty()) {
    (*attrs)["mark"] = option(options, "mark");
    (*attrs)["__number__"] = std::to_string(number);
  }
  return MX_SUCCESS;
}

// Pairs "a>b": from member a to node b.
static std::set<std::pair<int, int>> pairs(const std::string& text) {
  std::set<std::pair<int, int>> found;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    size_t at = part.find('>');
    if (at != std::string::npos) found.insert({atoi(part.c_str()), atoi(part.c_str() + at + 1)});
  }
  return found;
}

class Chooser : public CustomOpSelector {
 public:
  explicit Chooser(const Attrs& options) : options_(options) {
    for (int one : numbers(option(options, "seeds"))) seeds_.insert(one);
    for (int one : numbers(option(options, "drop"))) dropped_.insert(one);
    ins_ = pairs(option(options, "ins"));
    outs_ = pairs(option(options, "outs"));
  }
  bool Select(int node) override {
    log_line(options_, "select " + std::to_string(node));
    return seeds_.count(node);
  }
  bool SelectInput(int node, int other) override {
    log_line(options_, "input " + std::to_string(node) + " " + std::to_string(other));
    return ins_.count({node, other});
  }
  bool SelectOutput(int node, int other) override {
    log_line(options_, "output " + std::to_string(node) + " " + std::to_string(other));
    return outs_.count({node, other});
  }
  void Filter(const std::vector<int>& candidates, std::vector<int>* keep) override {
    std::string line = "filter";
    for (int one : candidates) {
      line += " " + std::to_string(one);
      if (!dropped_.count(one)) keep->push_back(one);
    }
    log_line(options_, line);
  }
  void Reset() override { log_line(options_, "reset"); }

 private:
  Attrs options_;
  std::set<int> seeds_, dropped_;
  std::set<std::pair<int, int>> ins_, outs_;
};

MXReturnValue create_selector(const Graph* graph, CustomOpSelector** selector, const Attrs& options) {
  *selector = new Chooser(options);
  return MX_SUCCESS;
}

class State : public CustomStatefulOp {
 public:
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource& op) override {
    return MX_FAIL;
  }
};

MXReturnValue create_state(const Attrs& attrs, const MXContext& ctx, const std::vector<std::vector<unsigned int>>& in_shapes,
                           const std::vector<int> in_types, CustomStatefulOp** state) {
  *state = CustomStatefulOp::create<State>();
  return MX_SUCCESS;
}

REGISTER_OP(_chosen).setIsSubgraphOp().setCreateOpState(create_state, "cpu");
REGISTER_OP(_chosen_too).setIsSubgraphOp().setCreateOpState(create_state, "cpu");

REGISTER_PARTITIONER(chooser).addStrategy("one", "_chosen").setSupportedOps("one", supported<0>);
REGISTER_PARTITIONER(reviewer)
    .addStrategy("one", "_chosen")
    .setSupportedOps("one", supported<0>)
    .setReviewSubgraph("one", review);
REGISTER_PARTITIONER(twice)
    .addStrategy("one", "_chosen")
    .setSupportedOps("one", supported<1>)
    .addStrategy("two", "_chosen_too")
    .setSupportedOps("two", supported<2>)
    .setReviewSubgraph("two", review);
REGISTER_PARTITIONER(selecting)
    .addStrategy("one", "_chosen")
    .setCreateSelector("one", create_selector)
    .setReviewSubgraph("one", review);

MXReturnValue initialize(int version) { return MX_SUCCESS; }
