// Partitioners that move exp and log out of a graph, into an operator of this library's own.
//
//   symbol.optimize_for("exp_log", args, min_size=1)
//     moves every exp and log; what would be a subgraph of fewer than min_size operators stays.
//
//   symbol.optimize_for("exp_log_chosen", args, operators="exp,log", max_size=0)
//     asks a selector object, which takes only the operators named, and at most max_size of them
//     into one subgraph (0: any number).
//
// The operator that stands for a subgraph, _exp_log, gets it as text, makes a list of steps of it,
// and computes them all for one part of an array before it goes on to the next. What is in between
// exp and log then never leaves the processor's cache, and memory is read and written once.
//
// Gradients, of which those of the values that several steps read are sums:
//   y = exp(x):  dL/dx = dL/dy y,   y = log(x):  dL/dx = dL/dy / x.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;

// ---------------------------------------------------------------------------------------------
// Which operators

bool is_exp_or_log(const Node& node) { return node.op == "exp" || node.op == "log"; }

// Types are known if optimize_for was given arrays; what is known to be of another type stays.
bool has_our_type(const Node& node) {
  const auto types = node.attrs.find(MX_STR_DTYPE);
  if (types == node.attrs.end()) return true;
  const std::string type = getDtypeAt(types->second, 0);
  return type == std::to_string(kFloat32) || type == std::to_string(kFloat64) || type == "-1";
}

int count_operators(const Graph& graph) {
  int count = 0;
  for (size_t i = 0; i < graph.size(); ++i) count += graph.getNode(i)->op != "null";
  return count;
}

// Options of optimize_for arrive as text: what Python's str makes of them.
bool read_size(const Attributes& options, const std::string& name, long* size) {
  const auto found = options.find(name);
  if (found == options.end()) return true;  // it keeps its default
  char* end = nullptr;
  *size = std::strtol(found->second.c_str(), &end, 10);
  if (end != found->second.c_str() && *end == '\0' && *size >= 0) return true;
  MX_ERROR_MSG << name << " should be a whole number from 0, and is '" << found->second << "'";
  return false;
}

// ---------------------------------------------------------------------------------------------
// Partitioning by a list: which nodes of the graph the operator supports

MXReturnValue supported_operators(const Graph* graph, std::vector<int>* ids, const Attributes&) {
  const int any_subgraph = -1;  // what stays -2, as all are before, belongs to none
  for (size_t i = 0; i < graph->size(); ++i) {
    const Node* node = graph->getNode(i);
    if (is_exp_or_log(*node) && has_our_type(*node)) ids->at(i) = any_subgraph;
  }
  return MX_SUCCESS;
}

// Asked about each subgraph that was found. The attributes set here become those of its node.
MXReturnValue review_subgraph(const Graph* subgraph, int, bool* accept, const Attributes& options,
                              Attributes* attributes) {
  long min_size = 1;
  if (!read_size(options, "min_size", &min_size)) return MX_FAIL;
  const int size = count_operators(*subgraph);
  *accept = size >= min_size;
  (*attributes)["size"] = std::to_string(size);
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// Partitioning by a selector: an object that is asked node by node, while a subgraph grows

class Selector final : public CustomOpSelector {
 public:
  Selector(const Graph* graph, const std::string& operators, long max_size)
      : graph_(graph), operators_("," + operators + ","), max_size_(max_size) {}

  bool Select(int id) {
    const Node* node = graph_->getNode(id);
    return is_exp_or_log(*node) && has_our_type(*node) &&
           operators_.find("," + node->op + ",") != std::string::npos;
  }
  bool SelectInput(int, int input) { return Select(input); }
  bool SelectOutput(int, int consumer) { return Select(consumer); }

  // The candidates come in the order of the graph. Each of them is computed from one before it, so
  // that the first few of them are a subgraph as well; the others are asked for again later.
  void Filter(const std::vector<int>& candidates, std::vector<int>* keep) {
    const long limit = max_size_ == 0 ? static_cast<long>(candidates.size()) : max_size_;
    for (const int candidate : candidates)
      if (static_cast<long>(keep->size()) < limit) keep->push_back(candidate);
  }

 private:
  const Graph* graph_;
  const std::string operators_;
  const long max_size_;
};

MXReturnValue create_selector(const Graph* graph, CustomOpSelector** selector,
                              const Attributes& options) {
  long max_size = 0;
  if (!read_size(options, "max_size", &max_size)) return MX_FAIL;
  const auto found = options.find("operators");
  const std::string operators = found == options.end() ? "exp,log" : found->second;
  if (operators != "exp" && operators != "log" && operators != "exp,log") {
    MX_ERROR_MSG << "operators should be 'exp', 'log' or 'exp,log', and is '" << operators << "'";
    return MX_FAIL;
  }
  // Nobody destroys a selector, and it is asked until there is a new one: it lives as long.
  thread_local std::unique_ptr<Selector> latest;
  latest.reset(new Selector(graph, operators, max_size));
  *selector = latest.get();
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// The operator that a subgraph becomes

struct Step {
  bool is_log;
  size_t source;  // of the values: 0 is the input, and 1 what the first step computes
};

struct Program {
  std::vector<Step> steps;
  std::vector<size_t> heads;  // the values that are outputs
};

// exp and log have one input each: operators that hang together all come from one.
bool read_program(const std::string& json, Program* program) {
  const std::unique_ptr<Graph> graph(Graph::fromString(json));
  if (graph->inputs.size() != 1) {
    MX_ERROR_MSG << "a subgraph of exp and log has one input, and this one has "
                 << graph->inputs.size();
    return false;
  }
  std::unordered_map<const Node*, size_t> values;
  values[graph->inputs[0]] = 0;
  std::vector<Node*> sorted = graph->topological_sort();
  for (auto node = sorted.rbegin(); node != sorted.rend(); ++node) {  // what comes first is last
    if ((*node)->op == "null") continue;
    if (!is_exp_or_log(**node)) {
      MX_ERROR_MSG << "a subgraph of exp and log holds the operator " << (*node)->op << ", named "
                   << (*node)->name;
      return false;
    }
    program->steps.push_back({(*node)->op == "log", values.at((*node)->inputs.at(0).node)});
    values[*node] = program->steps.size();
  }
  for (const NodeEntry& head : graph->outputs) program->heads.push_back(values.at(head.node));
  return true;
}

const int64_t kPart = 512;  // numbers of an array that go through all steps before the next ones

template <typename T>
class Values {
 public:
  explicit Values(const Program& program)
      : program_(program), computed_((program.steps.size() + 1) * kPart) {}

  T* operator[](size_t value) { return computed_.data() + value * kPart; }

  void compute(const T* input, int64_t count) {
    std::copy(input, input + count, (*this)[0]);
    for (size_t step = 0; step < program_.steps.size(); ++step) {
      const T* const x = (*this)[program_.steps[step].source];
      T* const y = (*this)[step + 1];
      if (program_.steps[step].is_log)
        for (int64_t i = 0; i < count; ++i) y[i] = std::log(x[i]);
      else
        for (int64_t i = 0; i < count; ++i) y[i] = std::exp(x[i]);
    }
  }

 private:
  const Program& program_;
  std::vector<T> computed_;
};

template <typename T>
void run(const Program& program, std::vector<MXTensor>& in, std::vector<MXTensor>& out) {
  Values<T> values(program);
  const int64_t size = in[0].size();
  for (int64_t start = 0; start < size; start += kPart) {
    const int64_t count = std::min(kPart, size - start);
    values.compute(in[0].data<T>() + start, count);
    for (size_t i = 0; i < program.heads.size(); ++i) {
      const T* const value = values[program.heads[i]];
      std::copy(value, value + count, out[i].data<T>() + start);
    }
  }
}

// What Backward gets: a gradient for each output, then the input, then the outputs of Forward. All
// values are computed again: if other calls of the same object came in between, what it could have
// kept would be theirs.
template <typename T>
void differentiate(const Program& program, std::vector<MXTensor>& in, std::vector<MXTensor>& out) {
  Values<T> values(program), gradients(program);
  const size_t heads = program.heads.size();
  const int64_t size = out[0].size();
  for (int64_t start = 0; start < size; start += kPart) {
    const int64_t count = std::min(kPart, size - start);
    values.compute(in[heads].data<T>() + start, count);
    std::fill(gradients[0], gradients[program.steps.size() + 1], T(0));
    for (size_t i = 0; i < heads; ++i) {
      const T* const g = in[i].data<T>() + start;
      T* const sum = gradients[program.heads[i]];
      for (int64_t j = 0; j < count; ++j) sum[j] += g[j];
    }
    for (size_t step = program.steps.size(); step-- > 0;) {
      const size_t source = program.steps[step].source;
      const T *const g = gradients[step + 1], *const x = values[source], *const y = values[step + 1];
      T* const sum = gradients[source];
      if (program.steps[step].is_log)
        for (int64_t j = 0; j < count; ++j) sum[j] += g[j] / x[j];
      else
        for (int64_t j = 0; j < count; ++j) sum[j] += g[j] * y[j];
    }
    std::copy(gradients[0], gradients[0] + count, out[0].data<T>() + start);
  }
}

class ExpLog : public CustomStatefulOp {
 public:
  explicit ExpLog(Program program) : program_(program) {}

  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                        const OpResource&) {
    if (inputs->at(0).dtype == kFloat64)
      run<double>(program_, *inputs, *outputs);
    else
      run<float>(program_, *inputs, *outputs);
    return MX_SUCCESS;
  }

  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource&) {
    if (outputs->at(0).dtype == kFloat64)
      differentiate<double>(program_, *inputs, *outputs);
    else
      differentiate<float>(program_, *inputs, *outputs);
    return MX_SUCCESS;
  }

 private:
  const Program program_;
};

MXReturnValue create_state(const Attributes& attributes, const MXContext&,
                           const std::vector<std::vector<unsigned int>>&,
                           const std::vector<int> types, CustomStatefulOp** state) {
  if (types.at(0) != kFloat32 && types.at(0) != kFloat64) {
    MX_ERROR_MSG << "subgraphs of exp and log are of float32 (" << kFloat32 << ") or float64 ("
                 << kFloat64 << "); the number of this one's type is " << types[0];
    return MX_FAIL;
  }
  const auto json = attributes.find(MX_STR_SUBGRAPH_SYM_JSON);
  if (json == attributes.end()) {
    MX_ERROR_MSG << "_exp_log stands for a subgraph, and has none: optimize_for makes it";
    return MX_FAIL;
  }
  Program program;
  if (!read_program(json->second, &program)) return MX_FAIL;
  *state = CustomStatefulOp::create<ExpLog>(program);
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(_exp_log).setIsSubgraphOp().setCreateOpState(create_state, "cpu");

REGISTER_PARTITIONER(exp_log)
    .addStrategy("all", "_exp_log")
    .setSupportedOps("all", supported_operators)
    .setReviewSubgraph("all", review_subgraph);

REGISTER_PARTITIONER(exp_log_chosen)
    .addStrategy("chosen", "_exp_log")
    .setCreateSelector("chosen", create_selector)
    .setReviewSubgraph("chosen", review_subgraph);

// Called once, when the library is loaded; the version is 10901 for MXNet 1.9.1.
MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "this library needs MXNet 1.9 or later, and is loaded by version " << version;
  return MX_FAIL;
}
