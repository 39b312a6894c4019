/// Graphs of operators, which partitioners read and passes edit.
#ifndef MINPY_GRAPH_H_
#define MINPY_GRAPH_H_

#include <algorithm>
#include <memory>

#include "json.h"
#include "platform.h"
#include "resources.h"
#include "tensor.h"

namespace minpy PRIVATE_SYMBOL {
class GraphReader;
class GraphWalk;
}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

class Node;
class Graph;

/// One end of an edge, which is written on both sides. In `Node::inputs`: the node that is read, and which
/// of its outputs. In `Node::outputs`: the node that reads, and as which of its inputs.
struct NodeEntry {
  Node* node;
  int entry;
};

/// A variable, whose `op` is "null", or an operator.
class Node {
 public:
  Node() : tensor(nullptr), resource_(nullptr) {}

  /// During a pass: makes this variable a new argument (auxiliary state), uninitialised, in `tensor`.
  void alloc_arg(const std::vector<int64_t>& shape, const MXContext& ctx, MXDType dtype) {
    tensor = resource("alloc_arg").alloc_arg(name, shape, ctx, dtype);
  }
  void alloc_aux(const std::vector<int64_t>& shape, const MXContext& ctx, MXDType dtype) {
    tensor = resource("alloc_aux").alloc_aux(name, shape, ctx, dtype);
  }

  std::string op;
  std::string name;
  MXTensor* tensor;  ///< the value of a variable, if the host gave one
  std::vector<NodeEntry> inputs;
  std::vector<NodeEntry> outputs;
  std::vector<Graph*> subgraphs;
  std::unordered_map<std::string, std::string> attrs;

 private:
  friend class Graph;

  const PassResource& resource(const char* function) const {
    if (resource_ == nullptr) {
      throw std::runtime_error(std::string(function) + " of node '" + name +
                               "': parameters are made by graph passes, for nodes of the pass's own graph");
    }
    return *resource_;
  }

  const PassResource* resource_;
};

/// A graph. It owns its nodes, and the subgraphs it was read with.
class Graph {
 public:
  Graph() : resource_(nullptr) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {}

  /// The graph of a symbol's JSON, for the caller to delete. Throws std::runtime_error if it is none.
  static Graph* fromString(const std::string& json);
  static Graph* fromJson(JsonVal json);

  JsonVal toJson() const;
  std::string toString() const { return toJson().dump(); }

  /// Calls `handler` with every node, consumers first: depth first along the consumers of the inputs in
  /// order, then of the other nodes.
  void DFS(std::function<void(Node*)> handler) const;

  /// All nodes, each behind its consumers: from back to front, every node comes after its inputs.
  std::vector<Node*> topological_sort() const;

  /// Writes the graph to standard output, `indent` columns to the right.
  void print(int indent = 0) const;

  Node* addNode(const std::string& name, const std::string& op) {
    std::unique_ptr<Node> node(new Node);
    node->name = name;
    node->op = op;
    node->resource_ = resource_;
    nodes_.push_back(std::move(node));
    return nodes_.back().get();
  }

  /// The nodes in the order in which they were read and added.
  std::size_t size() const { return nodes_.size(); }
  Node* getNode(std::size_t index) { return nodes_.at(index).get(); }
  const Node* getNode(std::size_t index) const { return nodes_.at(index).get(); }

  const JsonVal& getAttr(const std::string& key) const {
    const auto found = attrs.find(key);
    if (found == attrs.end()) throw std::out_of_range("the graph has no attribute '" + key + "'");
    return found->second;
  }

  /// For the host's side of a pass: lets nodes make parameters.
  void setPassResource(const PassResource* resource) {
    resource_ = resource;
    for (const std::unique_ptr<Node>& node : nodes_) node->resource_ = resource;
  }

  std::vector<Node*> inputs;
  std::vector<NodeEntry> outputs;
  std::map<std::string, JsonVal> attrs;

 private:
  friend class minpy::GraphWalk;
  friend class minpy::GraphReader;

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Graph>> subgraphs_;
  const PassResource* resource_;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

namespace minpy PRIVATE_SYMBOL {

/// Builds a graph from JSON, with every index checked.
class GraphReader {
 public:
  typedef mxnet::ext::JsonVal JsonVal;

  explicit GraphReader(const JsonVal& json) : graph_(new mxnet::ext::Graph) {
    if (json.type == mxnet::ext::ERR) fail("is no JSON: " + json.str);
    if (json.type != mxnet::ext::MAP) fail("is no JSON object");
    for (const JsonVal& node : member(json, "nodes", mxnet::ext::LIST).list) read_node(node);
    for (const JsonVal& head : member(json, "heads", mxnet::ext::LIST).list) {
      graph_->outputs.push_back(entry(head, "the heads"));
    }
    for (const auto& item : json.map) {
      static const char* const own[] = {"arg_nodes", "heads", "node_row_ptr", "nodes"};
      if (std::find(std::begin(own), std::end(own), item.first.str) == std::end(own)) {
        graph_->attrs[item.first.str] = item.second;
      }
    }
  }

  mxnet::ext::Graph* release() { return graph_.release(); }

 private:
  [[noreturn]] static void fail(const std::string& problem) {
    throw std::runtime_error("a graph that " + problem);
  }

  /// A member, which may be absent.
  static const JsonVal& member(const JsonVal& json, const char* key, mxnet::ext::JsonType type) {
    static const JsonVal* const absent = new JsonVal;
    const auto found = json.map.find(JsonVal(key));
    if (found == json.map.end()) return *absent;
    if (found->second.type != type) fail(std::string("has '") + key + "' of another JSON type than expected");
    return found->second;
  }

  void read_node(const JsonVal& json) {
    if (json.type != mxnet::ext::MAP) fail("has a node that is no JSON object");
    const std::string& name = member(json, "name", mxnet::ext::STR).str;
    std::vector<mxnet::ext::NodeEntry> inputs;
    for (const JsonVal& input : member(json, "inputs", mxnet::ext::LIST).list) {
      inputs.push_back(entry(input, "node '" + name + "'"));
    }
    mxnet::ext::Node* const node = graph_->addNode(name, member(json, "op", mxnet::ext::STR).str);
    if (node->op == "null") graph_->inputs.push_back(node);
    node->inputs = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].node->outputs.push_back({node, static_cast<int>(i)});
    }
    for (const auto& attribute : member(json, "attrs", mxnet::ext::MAP).map) {
      node->attrs[attribute.first.str] = attribute.second.str;
    }
    for (const JsonVal& subgraph : member(json, "subgraphs", mxnet::ext::LIST).list) {
      graph_->subgraphs_.push_back(std::unique_ptr<mxnet::ext::Graph>(GraphReader(subgraph).release()));
      node->subgraphs.push_back(graph_->subgraphs_.back().get());
    }
  }

  /// An edge from one of the nodes read so far: `[node, output]`, maybe with a version.
  mxnet::ext::NodeEntry entry(const JsonVal& json, const std::string& reader) const {
    const std::size_t known = graph_->size();
    if (json.type == mxnet::ext::LIST && json.list.size() >= 2) {
      const JsonVal& node = json.list[0];
      const JsonVal& output = json.list[1];
      if (node.type == mxnet::ext::NUM && output.type == mxnet::ext::NUM && node.num >= 0 &&
          static_cast<std::size_t>(node.num) < known && output.num >= 0) {
        return {graph_->nodes_[static_cast<std::size_t>(node.num)].get(), output.num};
      }
    }
    fail("has " + json.dump() + " as input of " + reader + ", which comes after " + std::to_string(known) +
         " nodes; expected [node, output]");
  }

  std::unique_ptr<mxnet::ext::Graph> graph_;
};

/// The order of a graph's nodes, however it was edited: nodes that only edges lead to count too, an edge
/// counts if its consumer says so, and no stack limits the depth.
class GraphWalk {
 public:
  typedef mxnet::ext::Node Node;
  typedef mxnet::ext::NodeEntry NodeEntry;

  explicit GraphWalk(const mxnet::ext::Graph& graph) {
    for (Node* node : graph.inputs) discover(node);
    for (const std::unique_ptr<Node>& node : graph.nodes_) discover(node.get());
    for (const NodeEntry& output : graph.outputs) discover(output.node);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const NodeEntry& input : nodes_[i]->inputs) discover(input.node);
      for (const NodeEntry& output : nodes_[i]->outputs) discover(output.node);
    }
    for (Node* node : nodes_) {
      for (const NodeEntry& input : node->inputs) consumers_[input.node].push_back(node);
    }
    for (Node* node : nodes_) visit(node);
  }

  /// Every node behind its consumers.
  const std::vector<Node*>& consumers_first() const { return order_; }

 private:
  struct Step {
    Node* node;
    std::vector<Node*> consumers;
    std::size_t next;
  };

  void discover(Node* node) {
    if (node == nullptr) throw std::runtime_error("a graph has an edge without a node");
    if (discovered_.insert(node).second) nodes_.push_back(node);
  }

  /// Those that read a node: first in the order it has them in, then those it does not know of.
  std::vector<Node*> consumers(const Node* node) const {
    const auto found = consumers_.find(node);
    if (found == consumers_.end()) return {};
    const std::unordered_set<Node*> reading(found->second.begin(), found->second.end());
    std::vector<Node*> ordered;
    for (const NodeEntry& output : node->outputs) {
      if (reading.count(output.node) != 0) ordered.push_back(output.node);
    }
    ordered.insert(ordered.end(), found->second.begin(), found->second.end());
    return ordered;
  }

  void visit(Node* root) {
    std::vector<Step> path;
    const auto enter = [&](Node* node) {
      if (visited_.insert(node).second) path.push_back({node, consumers(node), 0});
    };
    enter(root);
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next < step.consumers.size()) {
        enter(step.consumers[step.next++]);
      } else {
        order_.push_back(step.node);
        path.pop_back();
      }
    }
  }

  std::vector<Node*> nodes_;
  std::unordered_set<const Node*> discovered_, visited_;
  std::unordered_map<const Node*, std::vector<Node*>> consumers_;
  std::vector<Node*> order_;
};

/// The JSON of a graph. As MXNet's: all versions are 0, and `node_row_ptr` counts one output a node, for the
/// graph does not know how many there are.
inline mxnet::ext::JsonVal write_graph(const mxnet::ext::Graph& graph) {
  using mxnet::ext::JsonVal;
  const std::vector<mxnet::ext::Node*> order = GraphWalk(graph).consumers_first();
  std::unordered_map<const mxnet::ext::Node*, int> ids;
  const auto entry = [&ids](const mxnet::ext::NodeEntry& from) {
    JsonVal json(mxnet::ext::LIST);
    json.list = {JsonVal(ids.at(from.node)), JsonVal(from.entry), JsonVal(0)};
    return json;
  };
  JsonVal nodes(mxnet::ext::LIST), rows(mxnet::ext::LIST);
  JsonVal variables(mxnet::ext::LIST), heads(mxnet::ext::LIST);
  for (auto position = order.rbegin(); position != order.rend(); ++position) {
    const mxnet::ext::Node& node = **position;
    JsonVal json(mxnet::ext::MAP), inputs(mxnet::ext::LIST), attributes(mxnet::ext::MAP);
    for (const mxnet::ext::NodeEntry& input : node.inputs) {
      if (ids.count(input.node) == 0) {
        throw std::runtime_error("a graph with a cycle through its nodes '" + node.name + "' and '" +
                                 input.node->name + "'");
      }
      inputs.list.push_back(entry(input));
    }
    for (const auto& attribute : node.attrs) {
      attributes.map[JsonVal(attribute.first)] = JsonVal(attribute.second);
    }
    json.map[JsonVal("op")] = JsonVal(node.op);
    json.map[JsonVal("name")] = JsonVal(node.name);
    json.map[JsonVal("inputs")] = std::move(inputs);
    json.map[JsonVal("attrs")] = std::move(attributes);
    if (!node.subgraphs.empty()) {
      JsonVal subgraphs(mxnet::ext::LIST);
      for (const mxnet::ext::Graph* subgraph : node.subgraphs) subgraphs.list.push_back(subgraph->toJson());
      json.map[JsonVal("subgraphs")] = std::move(subgraphs);
    }
    const int id = static_cast<int>(nodes.list.size());
    ids[&node] = id;
    rows.list.push_back(JsonVal(id));
    nodes.list.push_back(std::move(json));
  }
  std::unordered_set<const mxnet::ext::Node*> listed;
  const auto list = [&](const mxnet::ext::Node* node) {
    if (listed.insert(node).second) variables.list.push_back(JsonVal(ids.at(node)));
  };
  for (const mxnet::ext::Node* node : graph.inputs) list(node);
  for (auto position = order.rbegin(); position != order.rend(); ++position) {
    if ((*position)->op == "null") list(*position);
  }
  for (const mxnet::ext::NodeEntry& head : graph.outputs) heads.list.push_back(entry(head));

  JsonVal json(mxnet::ext::MAP);
  for (const auto& attribute : graph.attrs) json.map[JsonVal(attribute.first)] = attribute.second;
  json.map[JsonVal("nodes")] = std::move(nodes);
  json.map[JsonVal("arg_nodes")] = variables;
  json.map[JsonVal("node_row_ptr")] = rows;
  json.map[JsonVal("heads")] = heads;
  return json;
}

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

inline Graph* Graph::fromJson(JsonVal json) { return minpy::GraphReader(json).release(); }

inline Graph* Graph::fromString(const std::string& json) { return fromJson(JsonVal::parse(json)); }

inline JsonVal Graph::toJson() const { return minpy::write_graph(*this); }

inline void Graph::DFS(std::function<void(Node*)> handler) const {
  const std::vector<Node*> order = topological_sort();
  for (Node* node : order) handler(node);
}

inline std::vector<Node*> Graph::topological_sort() const {
  return minpy::GraphWalk(*this).consumers_first();
}

inline void Graph::print(int indent) const {
  const std::string margin(static_cast<std::size_t>(indent > 0 ? indent : 0), ' ');
  std::ostream& out = std::cout;
  out << margin << "########### Graph #############\n" << margin << "attributes: \n";
  for (const auto& attribute : attrs) {
    out << margin << "\t" << attribute.first << " : " << attribute.second.str << "\n";
  }
  const std::vector<Node*> order = topological_sort();
  out << margin << "inputs: " << inputs.size() << "\n"
      << margin << "outputs: " << outputs.size() << "\n"
      << margin << "nodes: " << order.size() << "\n";
  for (auto position = order.rbegin(); position != order.rend(); ++position) {
    const Node& node = **position;
    out << margin << "Node: " << node.name << "\n";
    for (const NodeEntry& input : node.inputs) {
      out << margin << "\tInput: " << input.node->name << " " << input.entry << "\n";
    }
    for (const NodeEntry& output : node.outputs) {
      out << margin << "\tOutput: " << output.node->name << " " << output.entry << "\n";
    }
    if (!node.subgraphs.empty()) {
      out << margin << "\tSubgraph:\n";
      for (const Graph* subgraph : node.subgraphs) subgraph->print(indent + 2);
    }
  }
  out << margin << "###############################" << std::endl;
}

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_GRAPH_H_
