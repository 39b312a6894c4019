// Graph passes that make a trained network smaller and faster for inference, with its answers kept.
//
//   symbol.optimize_for("remove_identities", args, aux)
//     removes what passes its input on when nothing is trained: Dropout, BlockGrad and identity.
//
//   symbol.optimize_for("fold_batch_norm", args, aux)
//     For each Convolution and FullyConnected that is followed by BatchNorm, or by a number added
//     to it or multiplied with it, or by several of these one after the other: makes one layer of
//     them all. Its weights are new arguments, <layer>_folded_weight and <layer>_folded_bias; those
//     that nothing else reads leave the graph.
//
// With a layer's output z = w x + b, and what BatchNorm makes of it for inference,
//   gamma (z - mean) / sqrt(var + eps) + beta = s z + t,
//   s = gamma / sqrt(var + eps),   t = beta - s mean,   both one number for each channel,
// the layer with weights s w and bias s b + t computes the same. The numbers are computed in
// float64, and rounded once.

#include <cmath>
#include <locale>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;

// ---------------------------------------------------------------------------------------------
// Attributes of nodes, which are text

std::string text_of(const Node& node, const std::string& name, const std::string& unset) {
  const auto found = node.attrs.find(name);
  return found == node.attrs.end() ? unset : found->second;
}

bool flag_of(const Node& node, const std::string& name, bool unset) {
  const std::string text = text_of(node, name, unset ? "True" : "False");
  return text == "True" || text == "true" || text == "1";
}

// NaN for what is no number. By a stream with a locale of its own: strtod reads decimal commas in a
// process that has chosen a language with them.
double number_of(const Node& node, const std::string& name, const std::string& unset) {
  std::istringstream stream(text_of(node, name, unset));
  stream.imbue(std::locale::classic());
  double number = 0;
  return stream >> number && stream.eof() ? number : std::nan("");
}

// ---------------------------------------------------------------------------------------------
// Editing. An edge is stored at both of its ends: the consumer's inputs hold {producer, which of
// its outputs}, and the producer's outputs {consumer, which of its inputs}.

// Everything that reads node, its consumers and the graph's heads, reads source instead.
void replace(Graph* graph, Node* node, NodeEntry source) {
  for (const NodeEntry& edge : node->outputs) {
    edge.node->inputs[edge.entry] = source;
    source.node->outputs.push_back(edge);
  }
  node->outputs.clear();
  for (NodeEntry& head : graph->outputs)
    if (head.node == node) head = source;
}

bool is_head(const Graph& graph, const Node* node) {
  for (const NodeEntry& head : graph.outputs)
    if (head.node == node) return true;
  return false;
}

// Takes an edge away from its producer; a variable that is left without readers leaves the graph.
void disconnect(Graph* graph, Node* consumer, int input) {
  Node* const producer = consumer->inputs[input].node;
  std::vector<NodeEntry>& edges = producer->outputs;
  for (size_t i = 0; i < edges.size(); ++i)
    if (edges[i].node == consumer && edges[i].entry == input) {
      edges.erase(edges.begin() + i);
      break;
    }
  if (producer->op != "null" || !edges.empty() || is_head(*graph, producer)) return;
  for (size_t i = 0; i < graph->inputs.size(); ++i)
    if (graph->inputs[i] == producer) {
      graph->inputs.erase(graph->inputs.begin() + i);
      break;
    }
}

// Takes an operator out of the graph whose readers read something else by now.
void remove(Graph* graph, Node* node) {
  for (size_t i = 0; i < node->inputs.size(); ++i) disconnect(graph, node, static_cast<int>(i));
  node->inputs.clear();
}

std::string unused_name(const Graph& graph, const std::string& wanted) {
  for (size_t i = 0; i < graph.size(); ++i)
    if (graph.getNode(i)->name == wanted) return unused_name(graph, wanted + "_");
  return wanted;
}

// A variable with an array of its own, as the consumer's input, in place of the one there was.
MXTensor* new_argument(Graph* graph, Node* consumer, size_t input, const std::string& name,
                       const std::vector<int64_t>& shape, const MXTensor& like) {
  Node* const variable = graph->addNode(unused_name(*graph, name), "null");
  variable->alloc_arg(shape, like.ctx, like.dtype);
  graph->inputs.push_back(variable);
  if (input < consumer->inputs.size())
    disconnect(graph, consumer, static_cast<int>(input));
  else
    consumer->inputs.resize(input + 1);
  consumer->inputs[input] = {variable, 0};
  variable->outputs.push_back({consumer, static_cast<int>(input)});
  return variable->tensor;
}

// ---------------------------------------------------------------------------------------------
// Removing what passes its input on

bool is_identity(const Node& node) {
  if (node.op == "Dropout") return text_of(node, "mode", "training") != "always";
  return node.op == "BlockGrad" || node.op == "_copy";
}

MXReturnValue remove_identities(Graph* graph, const Attributes&) {
  for (size_t i = 0; i < graph->size(); ++i) {
    Node* const node = graph->getNode(i);
    if (!is_identity(*node)) continue;
    replace(graph, node, node->inputs.at(0));
    remove(graph, node);
  }
  return MX_SUCCESS;
}

// ---------------------------------------------------------------------------------------------
// Arrays of parameters

double read(const MXTensor& tensor, int64_t i) {
  return tensor.dtype == kFloat64 ? static_cast<const double*>(tensor.data_ptr)[i]
                                  : static_cast<const float*>(tensor.data_ptr)[i];
}

void write(MXTensor* tensor, int64_t i, double number) {
  if (tensor->dtype == kFloat64)
    tensor->data<double>()[i] = number;
  else
    tensor->data<float>()[i] = static_cast<float>(number);
}

// The array of an input of a node, or nullptr with a message. A length of -1 stands for any.
const MXTensor* parameter(const Node& node, size_t input, int64_t length) {
  const Node& variable = *node.inputs.at(input).node;
  const MXTensor* const tensor = variable.tensor;
  if (tensor == nullptr) {
    MX_ERROR_MSG << node.name << " can be folded only if the values of its " << variable.name
                 << " are given: pass the network's arguments and auxiliary states";
    return nullptr;
  }
  if (tensor->dtype != kFloat32 && tensor->dtype != kFloat64) {
    MX_ERROR_MSG << variable.name << " should be of float32 (" << kFloat32 << ") or float64 ("
                 << kFloat64 << "); the number of its type is " << tensor->dtype;
    return nullptr;
  }
  if (length != -1 && tensor->size() != length) {
    MX_ERROR_MSG << variable.name << " should hold " << length << " numbers, one for each output of "
                 << "the layer before " << node.name << ", and holds " << tensor->size();
    return nullptr;
  }
  return tensor;
}

// ---------------------------------------------------------------------------------------------
// Folding

// For each channel of a layer's output z, what follows makes s z + t of it.
struct Scaling {
  std::vector<double> s, t;
};

// Parameters that the graph computes are not known before it runs.
bool has_known_parameters(const Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].node->op != "null") return false;
  return true;
}

bool starts_fold(const Node& node) {
  if (!has_known_parameters(node)) return false;
  if (node.op == "FullyConnected") return flag_of(node, "flatten", true);  // outputs are (N, units)
  if (node.op != "Convolution") return false;
  const std::string layout = text_of(node, "layout", "None");
  return layout == "None" || layout.compare(0, 2, "NC") == 0;  // channels are the second axis
}

bool is_number_operator(const Node& node) {
  return node.op == "_mul_scalar" || node.op == "_div_scalar" || node.op == "_plus_scalar" ||
         node.op == "_minus_scalar";
}

bool continues_fold(const Graph& graph, const Node& node) {
  if (is_number_operator(node)) return std::isfinite(number_of(node, "scalar", "1"));
  if (node.op != "BatchNorm" || text_of(node, "axis", "1") != "1") return false;
  if (!std::isfinite(number_of(node, "eps", "0.001"))) return false;
  if (!has_known_parameters(node)) return false;
  for (const NodeEntry& edge : node.outputs)  // its batch's mean and variance may be read as well
    if (edge.node->inputs[edge.entry].entry != 0) return false;
  for (const NodeEntry& head : graph.outputs)
    if (head.node == &node && head.entry != 0) return false;
  return true;
}

// What reads a layer's output, if that is one operator and can be folded, or nullptr.
Node* next_to_fold(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || is_head(graph, &node)) return nullptr;
  Node* const next = node.outputs[0].node;
  return node.outputs[0].entry == 0 && continues_fold(graph, *next) ? next : nullptr;
}

bool apply_batch_norm(const Node& node, Scaling* scaling) {
  const int64_t channels = scaling->s.size();
  const MXTensor* arrays[4];  // gamma, beta, mean and variance
  for (int i = 0; i < 4; ++i)
    if ((arrays[i] = parameter(node, i + 1, channels)) == nullptr) return false;
  const double eps = number_of(node, "eps", "0.001");
  const bool fix_gamma = flag_of(node, "fix_gamma", true);
  for (int64_t c = 0; c < channels; ++c) {
    const double gamma = fix_gamma ? 1 : read(*arrays[0], c);
    const double s = gamma / std::sqrt(read(*arrays[3], c) + eps);
    scaling->s[c] *= s;
    scaling->t[c] = s * (scaling->t[c] - read(*arrays[2], c)) + read(*arrays[1], c);
  }
  return true;
}

void apply_number(const Node& node, Scaling* scaling) {
  const double number = number_of(node, "scalar", "1");
  for (size_t c = 0; c < scaling->s.size(); ++c) {
    if (node.op == "_plus_scalar") scaling->t[c] += number;
    if (node.op == "_minus_scalar") scaling->t[c] -= number;
    if (node.op == "_mul_scalar" || node.op == "_div_scalar") {
      const double factor = node.op == "_mul_scalar" ? number : 1 / number;
      scaling->s[c] *= factor;
      scaling->t[c] *= factor;
    }
  }
}

bool fold_layer(Graph* graph, Node* layer) {
  if (next_to_fold(*graph, *layer) == nullptr) return true;

  // Everything is read before anything changes: after an error the graph is as it was.
  const MXTensor* const weight = parameter(*layer, 1, -1);
  if (weight == nullptr) return false;
  const int64_t channels = weight->shape.at(0);
  const MXTensor* bias = nullptr;
  if (!flag_of(*layer, "no_bias", false) && (bias = parameter(*layer, 2, channels)) == nullptr)
    return false;
  Scaling scaling{std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  std::vector<Node*> folded;
  for (Node* next = layer; (next = next_to_fold(*graph, *next)) != nullptr;) {
    if (is_number_operator(*next))
      apply_number(*next, &scaling);
    else if (!apply_batch_norm(*next, &scaling))
      return false;
    folded.push_back(next);
  }

  const MXTensor old_weight = *weight;
  MXTensor* const new_weight =
      new_argument(graph, layer, 1, layer->name + "_folded_weight", old_weight.shape, old_weight);
  const int64_t size = channels == 0 ? 0 : old_weight.size() / channels;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = c * size; i < (c + 1) * size; ++i)
      write(new_weight, i, scaling.s[c] * read(old_weight, i));

  std::vector<double> biases(channels);
  for (int64_t c = 0; c < channels; ++c)
    biases[c] = scaling.s[c] * (bias == nullptr ? 0 : read(*bias, c)) + scaling.t[c];
  MXTensor* const new_bias =
      new_argument(graph, layer, 2, layer->name + "_folded_bias", {channels}, old_weight);
  for (int64_t c = 0; c < channels; ++c) write(new_bias, c, biases[c]);
  layer->attrs["no_bias"] = "False";

  replace(graph, folded.back(), {layer, 0});
  for (Node* const node : folded) remove(graph, node);
  return true;
}

MXReturnValue fold_batch_norm(Graph* graph, const Attributes&) {
  const size_t count = graph->size();  // the new variables come after
  for (size_t i = 0; i < count; ++i) {
    Node* const node = graph->getNode(i);
    if (starts_fold(*node) && !fold_layer(graph, node)) return MX_FAIL;
  }
  return MX_SUCCESS;
}

}  // namespace

REGISTER_PASS(remove_identities).setBody(remove_identities);
REGISTER_PASS(fold_batch_norm).setBody(fold_batch_norm);

// Called once, when the library is loaded; the version is 10901 for MXNet 1.9.1.
MXReturnValue initialize(int version) {
  if (version >= 10900) return MX_SUCCESS;
  MX_ERROR_MSG << "this library needs MXNet 1.9 or later, and is loaded by version " << version;
  return MX_FAIL;
}
