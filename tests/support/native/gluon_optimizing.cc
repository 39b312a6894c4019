// Partitioners, passes and operators that blocks are optimized with in tests: each says in a log what it was given.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;

namespace {

void note(const std::string& line) {
  const char* path = std::getenv("GLUON_OPTIMIZING_LOG");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

std::string described(const Attributes& options) {
  std::map<std::string, std::string> sorted(options.begin(), options.end());
  std::string text;
  for (const auto& one : sorted) text += " " + one.first + "=" + one.second;
  return text;
}

// The arrays that a graph's variables have, in the order of the variables.
std::string tensors_of(const Graph* graph) {
  std::string text;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    const Node* node = graph->inputs[i];
    text += " " + node->name + ":";
    if (node->tensor == nullptr) {
      text += "none";
      continue;
    }
    text += "(";
    for (size_t axis = 0; axis < node->tensor->shape.size(); ++axis) {
      text += (axis ? "," : "") + std::to_string(node->tensor->shape[axis]);
    }
    text += ")";
  }
  return text;
}

// What the operators around graphs compute: elementwise functions, with their derivatives.
class Elementwise : public CustomStatefulOp {
 public:
  explicit Elementwise(Graph* graph) : graph_(graph) {
    for (size_t i = 0; i < graph_->size(); ++i) positions_[graph_->getNode(i)] = i;
  }

  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) override {
    evaluate(inputs, 0);
    for (size_t i = 0; i < outputs->size(); ++i) {
      float* out = outputs->at(i).data<float>();
      const std::vector<float>& value = values_[positions_[graph_->outputs[i].node]];
      for (size_t k = 0; k < value.size(); ++k) out[k] = value[k];
    }
    return MX_SUCCESS;
  }

  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) override {
    const size_t heads = graph_->outputs.size();
    evaluate(inputs, heads);
    std::vector<std::vector<float>> gradients(graph_->size());
    for (size_t i = 0; i < graph_->size(); ++i) gradients[i].assign(values_[i].size(), 0.0f);
    for (size_t i = 0; i < heads; ++i) {
      const float* given = inputs->at(i).data<float>();
      std::vector<float>& gradient = gradients[positions_[graph_->outputs[i].node]];
      for (size_t k = 0; k < gradient.size(); ++k) gradient[k] += given[k];
    }
    for (size_t i = graph_->size(); i-- > 0;) {
      const Node* node = graph_->getNode(i);
      for (size_t which = 0; which < node->inputs.size(); ++which) {
        const size_t from = positions_[node->inputs[which].node];
        for (size_t k = 0; k < values_[i].size(); ++k) {
          float slope = 1.0f;
          if (node->op == "exp") slope = values_[i][k];
          if (node->op == "log") slope = 1.0f / values_[from][k];
          if (node->op == "sin") slope = std::cos(values_[from][k]);
          if (node->op == "elemwise_mul") slope = values_[positions_[node->inputs[1 - which].node]][k];
          gradients[from][k] += gradients[i][k] * slope;
        }
      }
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      float* out = outputs->at(i).data<float>();
      const std::vector<float>& gradient = gradients[positions_[graph_->inputs[i]]];
      for (size_t k = 0; k < gradient.size(); ++k) out[k] = gradient[k];
    }
    return MX_SUCCESS;
  }

 private:
  void evaluate(std::vector<MXTensor>* inputs, size_t first) {
    values_.assign(graph_->size(), std::vector<float>());
    for (size_t i = 0; i < graph_->inputs.size(); ++i) {
      const float* data = inputs->at(first + i).data<float>();
      values_[positions_[graph_->inputs[i]]].assign(data, data + inputs->at(first + i).size());
    }
    for (size_t i = 0; i < graph_->size(); ++i) {
      const Node* node = graph_->getNode(i);
      if (node->op == "null") continue;
      const std::vector<float>& left = values_[positions_[node->inputs[0].node]];
      const std::vector<float>& right = values_[positions_[node->inputs.back().node]];
      values_[i].resize(left.size());
      for (size_t k = 0; k < left.size(); ++k) {
        if (node->op == "exp") values_[i][k] = std::exp(left[k]);
        if (node->op == "log") values_[i][k] = std::log(left[k]);
        if (node->op == "sin") values_[i][k] = std::sin(left[k]);
        if (node->op == "elemwise_add") values_[i][k] = left[k] + right[k];
        if (node->op == "elemwise_mul") values_[i][k] = left[k] * right[k];
      }
    }
  }

  Graph* graph_;
  std::map<const Node*, size_t> positions_;
  std::vector<std::vector<float>> values_;
};

MXReturnValue create_elementwise(const Attributes& attributes, const MXContext&,
                                 const std::vector<std::vector<unsigned int>>&, const std::vector<int>,
                                 CustomStatefulOp** made) {
  *made = CustomStatefulOp::create<Elementwise>(Graph::fromString(attributes.at(MX_STR_SUBGRAPH_SYM_JSON)));
  return MX_SUCCESS;
}

MXReturnValue supported_among(const Graph* graph, std::vector<int>* ids, const Attributes& options,
                              const std::string& partitioner, const std::vector<std::string>& operators) {
  note("supported " + partitioner + described(options));
  for (size_t i = 0; i < graph->size(); ++i) {
    for (const std::string& one : operators) {
      if (graph->getNode(i)->op == one) (*ids)[i] = -1;
    }
  }
  return MX_SUCCESS;
}

MXReturnValue supports_exp(const Graph* graph, std::vector<int>* ids, const Attributes& options) {
  return supported_among(graph, ids, options, "opt_exp", {"exp", "log"});
}

MXReturnValue supports_sin(const Graph* graph, std::vector<int>* ids, const Attributes& options) {
  return supported_among(graph, ids, options, "opt_sin", {"sin", "elemwise_add", "elemwise_mul"});
}

MXReturnValue review(const Graph* graph, int number, bool* accept, const Attributes& options, Attributes* attributes) {
  note("review " + std::to_string(number) + described(options) + " |" + tensors_of(graph));
  *accept = options.count("reject") == 0;
  (*attributes)["reviewed"] = "yes";
  return MX_SUCCESS;
}

// -- passes ------------------------------------------------------------------------------------------------------

void note_pass(const std::string& name, const Graph* graph, const Attributes& options) {
  note("pass " + name + described(options) + " |" + tensors_of(graph));
}

void connect(Node* from, Node* to) {
  const int position = static_cast<int>(to->inputs.size());
  to->inputs.push_back({from, 0});
  from->outputs.push_back({to, position});
}

// Multiplies what each fully connected layer computes by a new parameter.
MXReturnValue add_scales(Graph* graph, const Attributes& options) {
  note_pass("opt_scale", graph, options);
  const float value = options.count("value") ? std::stof(options.at("value")) : 2.0f;
  const size_t count = graph->size();
  for (size_t i = 0; i < count; ++i) {
    Node* layer = graph->getNode(i);
    if (layer->op != "FullyConnected") continue;
    Node* factor = graph->addNode(layer->name + "_scale", "null");
    Node* product = graph->addNode(layer->name + "_scaled", "broadcast_mul");
    factor->alloc_arg({1}, MXContext::CPU(0), kFloat32);
    factor->tensor->data<float>()[0] = value;
    graph->inputs.push_back(factor);
    for (NodeEntry& edge : layer->outputs) edge.node->inputs[edge.entry].node = product;
    product->outputs = layer->outputs;
    layer->outputs.clear();
    for (NodeEntry& head : graph->outputs) {
      if (head.node == layer) head.node = product;
    }
    connect(layer, product);
    connect(factor, product);
  }
  return MX_SUCCESS;
}

// Gives batch normalizations a moving mean of one's own, of ones.
MXReturnValue replace_means(Graph* graph, const Attributes& options) {
  note_pass("opt_mean", graph, options);
  const size_t count = graph->size();
  for (size_t i = 0; i < count; ++i) {
    Node* layer = graph->getNode(i);
    if (layer->op != "BatchNorm") continue;
    Node* before = layer->inputs[3].node;
    const int64_t channels = before->tensor->shape[0];
    Node* mean = graph->addNode(layer->name + "_new_mean", "null");
    mean->alloc_aux({channels}, MXContext::CPU(0), kFloat32);
    for (int64_t k = 0; k < channels; ++k) mean->tensor->data<float>()[k] = 1.0f;
    graph->inputs.push_back(mean);
    before->outputs.clear();
    for (size_t k = 0; k < graph->inputs.size(); ++k) {
      if (graph->inputs[k] == before) graph->inputs.erase(graph->inputs.begin() + k);
    }
    layer->inputs[3] = {mean, 0};
    mean->outputs.push_back({layer, 3});
  }
  return MX_SUCCESS;
}

// Takes the biases of fully connected layers away.
MXReturnValue remove_biases(Graph* graph, const Attributes& options) {
  note_pass("opt_no_bias", graph, options);
  for (size_t i = 0; i < graph->size(); ++i) {
    Node* layer = graph->getNode(i);
    if (layer->op != "FullyConnected" || layer->inputs.size() < 3) continue;
    Node* bias = layer->inputs[2].node;
    layer->inputs.pop_back();
    layer->attrs["no_bias"] = "True";
    bias->outputs.clear();
    for (size_t k = 0; k < graph->inputs.size(); ++k) {
      if (graph->inputs[k] == bias) {
        graph->inputs.erase(graph->inputs.begin() + k);
        break;
      }
    }
  }
  return MX_SUCCESS;
}

// Gives the weights of fully connected layers new arrays, under the same names.
MXReturnValue renew_weights(Graph* graph, const Attributes& options) {
  note_pass("opt_renew", graph, options);
  for (Node* node : graph->inputs) {
    const std::string ending = "a_weight";
    if (node->tensor == nullptr || node->name.size() < ending.size()) continue;
    if (node->name.compare(node->name.size() - ending.size(), ending.size(), ending) != 0) continue;
    const std::vector<int64_t> shape = node->tensor->shape;
    node->alloc_arg(shape, MXContext::CPU(0), kFloat32);
    for (int64_t k = 0; k < node->tensor->size(); ++k) node->tensor->data<float>()[k] = 0.5f;
  }
  return MX_SUCCESS;
}

// Exchanges an operator, as options say: `from` and `to`.
MXReturnValue exchange(Graph* graph, const Attributes& options) {
  note_pass("opt_exchange", graph, options);
  const std::string from = options.count("from_op") ? options.at("from_op") : "exp";
  const std::string to = options.count("to_op") ? options.at("to_op") : "sin";
  for (size_t i = 0; i < graph->size(); ++i) {
    if (graph->getNode(i)->op == from) graph->getNode(i)->op = to;
  }
  return MX_SUCCESS;
}

// Doubles a weight in place: passes may write to the arrays that they are given.
MXReturnValue double_weights(Graph* graph, const Attributes& options) {
  note_pass("opt_double", graph, options);
  for (Node* node : graph->inputs) {
    const std::string ending = "weight";
    if (node->tensor == nullptr || node->name.size() < ending.size()) continue;
    if (node->name.compare(node->name.size() - ending.size(), ending.size(), ending) != 0) continue;
    for (int64_t k = 0; k < node->tensor->size(); ++k) node->tensor->data<float>()[k] *= 2.0f;
  }
  return MX_SUCCESS;
}

MXReturnValue refuse(Graph* graph, const Attributes& options) {
  note_pass("opt_refuse", graph, options);
  MX_ERROR_MSG << "this graph is refused";
  return MX_FAIL;
}

// -- operators with states ----------------------------------------------------------------------------------------

MXReturnValue track_attributes(const Attributes&, int* inputs, int* outputs) {
  *inputs = 2;
  *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue track_types(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  in->at(1) = in->at(0);
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

MXReturnValue track_shapes(const Attributes&, std::vector<std::vector<unsigned int>>* in,
                           std::vector<std::vector<unsigned int>>* out) {
  in->at(1) = std::vector<unsigned int>(1, 1);
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

MXReturnValue track_mutated(const Attributes&, std::vector<int>* positions) {
  positions->push_back(1);
  return MX_SUCCESS;
}

// Moves the second input towards the mean of the first, and takes it from all elements of the first.
MXReturnValue track(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                    const OpResource&) {
  const float* data = inputs->at(0).data<float>();
  float* mean = inputs->at(1).data<float>();
  float sum = 0.0f;
  for (int64_t k = 0; k < inputs->at(0).size(); ++k) sum += data[k];
  mean[0] = 0.5f * mean[0] + 0.5f * sum / static_cast<float>(inputs->at(0).size());
  for (int64_t k = 0; k < inputs->at(0).size(); ++k) outputs->at(0).data<float>()[k] = data[k] - mean[0];
  return MX_SUCCESS;
}

MXReturnValue track_gradient(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                             const OpResource&) {
  for (int64_t k = 0; k < inputs->at(0).size(); ++k) {
    outputs->at(0).data<float>()[k] = 3.0f * inputs->at(0).data<float>()[k];
  }
  outputs->at(1).data<float>()[0] = 0.0f;
  return MX_SUCCESS;
}

// Adds to its input how often its state has computed; the gradient is multiplied by that.
class Steps : public CustomStatefulOp {
 public:
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) override {
    count_ += 1.0f;
    for (int64_t k = 0; k < inputs->at(0).size(); ++k) {
      outputs->at(0).data<float>()[k] = inputs->at(0).data<float>()[k] + count_;
    }
    return MX_SUCCESS;
  }

  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) override {
    for (int64_t k = 0; k < inputs->at(0).size(); ++k) {
      outputs->at(0).data<float>()[k] = inputs->at(0).data<float>()[k] * count_;
    }
    return MX_SUCCESS;
  }

 private:
  float count_ = 0.0f;
};

MXReturnValue create_steps(const Attributes&, const MXContext&, const std::vector<std::vector<unsigned int>>&,
                           const std::vector<int>, CustomStatefulOp** made) {
  *made = CustomStatefulOp::create<Steps>();
  return MX_SUCCESS;
}

MXReturnValue steps_attributes(const Attributes&, int* inputs, int* outputs) {
  *inputs = 1;
  *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue steps_types(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

MXReturnValue steps_shapes(const Attributes&, std::vector<std::vector<unsigned int>>* in,
                           std::vector<std::vector<unsigned int>>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(_opt_elementwise).setIsSubgraphOp().setCreateOpState(create_elementwise, "cpu");

REGISTER_OP(opt_track)
    .setForward(track, "cpu")
    .setBackward(track_gradient, "cpu")
    .setParseAttrs(track_attributes)
    .setInferType(track_types)
    .setInferShape(track_shapes)
    .setMutateInputs(track_mutated);

REGISTER_OP(opt_steps)
    .setParseAttrs(steps_attributes)
    .setInferType(steps_types)
    .setInferShape(steps_shapes)
    .setCreateOpState(create_steps, "cpu");

REGISTER_PARTITIONER(opt_exp)
    .addStrategy("exponentials", "_opt_elementwise")
    .setSupportedOps("exponentials", supports_exp)
    .setReviewSubgraph("exponentials", review);

REGISTER_PARTITIONER(opt_sin)
    .addStrategy("sines", "_opt_elementwise")
    .setSupportedOps("sines", supports_sin)
    .setReviewSubgraph("sines", review);

REGISTER_PASS(opt_scale).setBody(add_scales);
REGISTER_PASS(opt_mean).setBody(replace_means);
REGISTER_PASS(opt_no_bias).setBody(remove_biases);
REGISTER_PASS(opt_exchange).setBody(exchange);
REGISTER_PASS(opt_double).setBody(double_weights);
REGISTER_PASS(opt_renew).setBody(renew_weights);
REGISTER_PASS(opt_refuse).setBody(refuse);

MXReturnValue initialize(int version) {
  if (version < 10900) {
    MX_ERROR_MSG << "MXNet version " << version << " is not supported";
    return MX_FAIL;
  }
  return MX_SUCCESS;
}
