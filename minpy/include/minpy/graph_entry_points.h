/// The C functions through which a host finds and calls partitioners and graph passes.
#ifndef MINPY_GRAPH_ENTRY_POINTS_H_
#define MINPY_GRAPH_ENTRY_POINTS_H_

#include "boundary.h"
#include "partitioner.h"

/// Arrays of the graph's parameters: arguments or auxiliary states.
#define MINPY_PARAMETERS(kind)                                                              \
  const char *const *kind##_names, int num_##kind, void *const *kind##_data,                \
      const int64_t *const *kind##_shapes, const int *kind##_dims, const int *kind##_types, \
      const size_t *kind##_version_ids, const char *const *kind##_dev_types, const int *kind##_dev_ids

#define MINPY_PARAMETER_NAMES(kind)                                                                    \
  kind##_names, num_##kind, kind##_data, kind##_shapes, kind##_dims, kind##_types, kind##_version_ids, \
      kind##_dev_types, kind##_dev_ids

#define MINPY_PARAMETER_TENSORS(kind) minpy::named_tensors(MINPY_PARAMETER_NAMES(kind))

namespace minpy PRIVATE_SYMBOL {

typedef std::unordered_map<std::string, mxnet::ext::MXTensor> NamedTensors;

inline NamedTensors named_tensors(const char* const* names, int count, void* const* data,
                                  const int64_t* const* shapes, const int* dims, const int* types,
                                  const std::size_t* version_ids, const char* const* dev_types,
                                  const int* dev_ids) {
  NamedTensors tensors;
  for (int i = 0; i < count; ++i) {
    tensors[text(names[i])].setTensor(data[i], static_cast<mxnet::ext::MXDType>(types[i]), shapes[i], dims[i],
                                      version_ids[i], mxnet::ext::MXContext(text(dev_types[i]), dev_ids[i]),
                                      mxnet::ext::kDefaultStorage);
  }
  return tensors;
}

/// Gives variables of a graph their values, if the host supplied them. Those of a subgraph have names of
/// their own, and say which argument outside they stand for.
inline void attach(const mxnet::ext::Graph& graph, NamedTensors* args, NamedTensors* aux) {
  for (mxnet::ext::Node* node : graph.inputs) {
    const auto is_argument = node->attrs.find("isArg");
    const auto argument = node->attrs.find("argName");
    const bool renamed =
        is_argument != node->attrs.end() && is_argument->second == "True" && argument != node->attrs.end();
    const std::string& name = renamed ? argument->second : node->name;
    for (NamedTensors* tensors : {args, aux}) {
      const auto found = tensors->find(name);
      if (node->tensor == nullptr && found != tensors->end()) node->tensor = &found->second;
    }
  }
}

inline std::unique_ptr<mxnet::ext::Graph> read_graph(const char* json) {
  return std::unique_ptr<mxnet::ext::Graph>(mxnet::ext::Graph::fromString(text(json)));
}

/// The graphs that selectors may hold on to. MXNet never says when it has done with a selector; a host that
/// knows of _partCallReleaseSelector does.
class SelectorGraphs {
 public:
  static SelectorGraphs* get() {
    static SelectorGraphs* graphs = new SelectorGraphs;
    return graphs;
  }

  void keep(const void* selector, std::unique_ptr<mxnet::ext::Graph> graph) {
    std::lock_guard<std::mutex> lock(mutex_);
    graphs_[selector] = std::move(graph);
  }

  void release(const void* selector) {
    std::lock_guard<std::mutex> lock(mutex_);
    graphs_.erase(selector);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<mxnet::ext::Graph>> graphs_;
};

inline mxnet::ext::CustomOpSelector* selector_of(void* selector) {
  return static_cast<mxnet::ext::CustomOpSelector*>(selector);
}

/// An answer of a selector: no, if it throws.
template <class Body>
inline void answer(const char* what, int* selected, Body body) {
  *selected = 0;
  completes(what, [&] { *selected = body() ? 1 : 0; });
}

/// What the entry points do that read graphs. They call it by way of a table, which the first registration of
/// a partitioner or a pass fills in: a library of operators alone is not made of all of this.
struct GraphCalls {
  static int partitioner_count() {
    return mxnet::ext::Registry<mxnet::ext::CustomPartitioner>::get()->size();
  }

  static int strategy_count(int index, const char** name) {
    int count = 0;
    completes("_partRegGetCount", [&] {
      mxnet::ext::CustomPartitioner& partitioner =
          mxnet::ext::Registry<mxnet::ext::CustomPartitioner>::get()->get(index);
      partitioner.report_unknown_strategies();
      *name = partitioner.name.c_str();
      count = static_cast<int>(partitioner.strategies.size());
    });
    return count;
  }

  static void strategy(int index, int strategy, const char** strategy_name,
                       mxnet::ext::supportedOps_t* supported_ops,
                       mxnet::ext::createSelector_t* create_selector,
                       mxnet::ext::reviewSubgraph_t* review_subgraph, const char** subgraph_op) {
    completes("_partRegGet", [&] {
      const mxnet::ext::CustomPartitioner& partitioner =
          mxnet::ext::Registry<mxnet::ext::CustomPartitioner>::get()->get(index);
      *supported_ops = partitioner.getSupportedOps(strategy);
      *create_selector = partitioner.getCreateSelector(strategy);
      *review_subgraph = partitioner.getReviewSubgraph(strategy);
      *strategy_name = partitioner.strategies[static_cast<std::size_t>(strategy)].name.c_str();
      *subgraph_op = partitioner.strategies[static_cast<std::size_t>(strategy)].subgraph_op.c_str();
    });
  }

  static int supported_ops(mxnet::ext::supportedOps_t supported, const char* json, int num_ids, int* ids,
                           const char* const* keys, const char* const* values, int num) {
    return status("SupportedOps", [&] {
      const std::unique_ptr<mxnet::ext::Graph> graph = read_graph(json);
      std::vector<int> codes(static_cast<std::size_t>(num_ids), -2);
      const mxnet::ext::MXReturnValue result = supported(graph.get(), &codes, string_map(keys, values, num));
      if (result != mxnet::ext::MX_SUCCESS) return result;
      require_count("ids", codes.size(), num_ids);
      std::copy(codes.begin(), codes.end(), ids);
      return result;
    });
  }

  static int create_selector(mxnet::ext::createSelector_t create, const char* json, void** selector,
                             const char* const* keys, const char* const* values, int num) {
    return status("CreateSelector", [&] {
      std::unique_ptr<mxnet::ext::Graph> graph = read_graph(json);
      mxnet::ext::CustomOpSelector* created = nullptr;
      const mxnet::ext::MXReturnValue result = create(graph.get(), &created, string_map(keys, values, num));
      if (result != mxnet::ext::MX_SUCCESS) return result;
      require(created != nullptr, "createSelector reported success without a selector");
      SelectorGraphs::get()->keep(created, std::move(graph));
      *selector = created;
      return result;
    });
  }

  static void release_selector(void* selector) {
    completes("ReleaseSelector", [&] { SelectorGraphs::get()->release(selector); });
  }

  static int review_subgraph(mxnet::ext::reviewSubgraph_t review, const char* json, int subgraph_id,
                             int* accept, const char* const* keys, const char* const* values, int num,
                             char*** attr_keys, char*** attr_values, int* num_attrs, MINPY_PARAMETERS(arg),
                             MINPY_PARAMETERS(aux)) {
    return status("ReviewSubgraph", [&] {
      const std::unique_ptr<mxnet::ext::Graph> graph = read_graph(json);
      NamedTensors args = MINPY_PARAMETER_TENSORS(arg), aux = MINPY_PARAMETER_TENSORS(aux);
      attach(*graph, &args, &aux);
      bool accepted = false;
      std::unordered_map<std::string, std::string> attributes;
      const mxnet::ext::MXReturnValue result =
          review(graph.get(), subgraph_id, &accepted, string_map(keys, values, num), &attributes);
      if (result != mxnet::ext::MX_SUCCESS) return result;
      *accept = accepted;
      if (!attributes.empty()) {
        HostArrays<char> names(attributes.size()), texts(attributes.size());
        for (const auto& attribute : attributes) {
          names.push_back(host_string(attribute.first));
          texts.push_back(host_string(attribute.second));
        }
        *attr_keys = names.release();
        *attr_values = texts.release();
        *num_attrs = static_cast<int>(attributes.size());
      }
      return result;
    });
  }

  static int pass_count() { return mxnet::ext::Registry<mxnet::ext::CustomPass>::get()->size(); }

  static void pass(int index, mxnet::ext::graphPass_t* body, const char** name) {
    completes("_passRegGet", [&] {
      const mxnet::ext::CustomPass& pass = mxnet::ext::Registry<mxnet::ext::CustomPass>::get()->get(index);
      *body = pass.body;
      *name = pass.name.c_str();
    });
  }

  static int run_pass(mxnet::ext::graphPass_t body, const char* json, char** out_json,
                      const char* const* keys, const char* const* values, int num, const char* pass_name,
                      MINPY_PARAMETERS(arg), MINPY_PARAMETERS(aux), mxnet::ext::nd_malloc_t nd_malloc,
                      const void* nd_handle) {
    return status("GraphPass", [&] {
      require(body != nullptr, "pass '" + text(pass_name) + "' was registered without setBody");
      const std::unique_ptr<mxnet::ext::Graph> graph = read_graph(json);
      NamedTensors args = MINPY_PARAMETER_TENSORS(arg), aux = MINPY_PARAMETER_TENSORS(aux);
      attach(*graph, &args, &aux);
      NamedTensors new_args, new_aux;
      const mxnet::ext::PassResource resource(&new_args, &new_aux, nd_malloc, nd_handle);
      graph->setPassResource(&resource);
      const mxnet::ext::MXReturnValue result = body(graph.get(), string_map(keys, values, num));
      if (result != mxnet::ext::MX_SUCCESS) return result;
      *out_json = host_string(graph->toString()).release();
      return result;
    });
  }
};

/// Pointers to them.
struct GraphTable {
  decltype(&GraphCalls::partitioner_count) partitioner_count;
  decltype(&GraphCalls::strategy_count) strategy_count;
  decltype(&GraphCalls::strategy) strategy;
  decltype(&GraphCalls::supported_ops) supported_ops;
  decltype(&GraphCalls::create_selector) create_selector;
  decltype(&GraphCalls::release_selector) release_selector;
  decltype(&GraphCalls::review_subgraph) review_subgraph;
  decltype(&GraphCalls::pass_count) pass_count;
  decltype(&GraphCalls::pass) pass;
  decltype(&GraphCalls::run_pass) run_pass;
};

/// The table, or null in a library without partitioners and passes.
inline const GraphTable*& graph_table() {
  static const GraphTable* table = nullptr;
  return table;
}

inline void serve_graphs() {
  static const GraphTable table = {
      &GraphCalls::partitioner_count, &GraphCalls::strategy_count,  &GraphCalls::strategy,
      &GraphCalls::supported_ops,     &GraphCalls::create_selector, &GraphCalls::release_selector,
      &GraphCalls::review_subgraph,   &GraphCalls::pass_count,      &GraphCalls::pass,
      &GraphCalls::run_pass};
  graph_table() = &table;
}

}  // namespace minpy

MINPY_ENTRY_POINT int _partRegSize(void) {
  return minpy::graph_table() != nullptr ? minpy::graph_table()->partitioner_count() : 0;
}

MINPY_ENTRY_POINT int _partRegGetCount(int index, const char** name) {
  *name = "";
  return minpy::graph_table() != nullptr ? minpy::graph_table()->strategy_count(index, name) : 0;
}

MINPY_ENTRY_POINT void _partRegGet(int index, int strategy, const char** strategy_name,
                                   mxnet::ext::supportedOps_t* supported_ops,
                                   mxnet::ext::createSelector_t* create_selector,
                                   mxnet::ext::reviewSubgraph_t* review_subgraph, const char** subgraph_op) {
  *strategy_name = *subgraph_op = "";
  *supported_ops = nullptr;
  *create_selector = nullptr;
  *review_subgraph = nullptr;
  if (minpy::graph_table() == nullptr) return;
  minpy::graph_table()->strategy(index, strategy, strategy_name, supported_ops, create_selector,
                                 review_subgraph, subgraph_op);
}

MINPY_ENTRY_POINT int _partCallSupportedOps(mxnet::ext::supportedOps_t supported, const char* json,
                                            int num_ids, int* ids, const char* const* keys,
                                            const char* const* values, int num) {
  if (minpy::graph_table() == nullptr) return 0;
  return minpy::graph_table()->supported_ops(supported, json, num_ids, ids, keys, values, num);
}

MINPY_ENTRY_POINT int _partCallCreateSelector(mxnet::ext::createSelector_t create, const char* json,
                                              void** selector, const char* const* keys,
                                              const char* const* values, int num) {
  if (minpy::graph_table() == nullptr) return 0;
  return minpy::graph_table()->create_selector(create, json, selector, keys, values, num);
}

MINPY_ENTRY_POINT void _partCallSelect(void* selector, int node, int* selected) {
  minpy::answer("Select", selected, [&] { return minpy::selector_of(selector)->Select(node); });
}

MINPY_ENTRY_POINT void _partCallSelectInput(void* selector, int node, int input, int* selected) {
  minpy::answer("SelectInput", selected,
                [&] { return minpy::selector_of(selector)->SelectInput(node, input); });
}

MINPY_ENTRY_POINT void _partCallSelectOutput(void* selector, int node, int output, int* selected) {
  minpy::answer("SelectOutput", selected,
                [&] { return minpy::selector_of(selector)->SelectOutput(node, output); });
}

MINPY_ENTRY_POINT void _partCallFilter(void* selector, int* candidates, int num_candidates, int** keep,
                                       int* num_keep) {
  *keep = nullptr;
  *num_keep = 0;
  minpy::completes("Filter", [&] {
    const std::vector<int> offered(candidates, candidates + num_candidates);
    std::vector<int> kept;
    minpy::selector_of(selector)->Filter(offered, &kept);
    *keep = minpy::host_array(kept).release();
    *num_keep = static_cast<int>(kept.size());
  });
}

MINPY_ENTRY_POINT void _partCallReset(void* selector) {
  minpy::completes("Reset", [&] { minpy::selector_of(selector)->Reset(); });
}

/// Not of MXNet, which keeps what a selector's graph takes: says that the host has done with a selector. The
/// selector itself stays, for only its library knows how it was made.
MINPY_ENTRY_POINT void _partCallReleaseSelector(void* selector) {
  if (minpy::graph_table() != nullptr) minpy::graph_table()->release_selector(selector);
}

MINPY_ENTRY_POINT int _partCallReviewSubgraph(mxnet::ext::reviewSubgraph_t review, const char* json,
                                              int subgraph_id, int* accept, const char* const* keys,
                                              const char* const* values, int num, char*** attr_keys,
                                              char*** attr_values, int* num_attrs, MINPY_PARAMETERS(arg),
                                              MINPY_PARAMETERS(aux)) {
  if (minpy::graph_table() == nullptr) return 0;
  return minpy::graph_table()->review_subgraph(review, json, subgraph_id, accept, keys, values, num,
                                               attr_keys, attr_values, num_attrs, MINPY_PARAMETER_NAMES(arg),
                                               MINPY_PARAMETER_NAMES(aux));
}

MINPY_ENTRY_POINT int _passRegSize(void) {
  return minpy::graph_table() != nullptr ? minpy::graph_table()->pass_count() : 0;
}

MINPY_ENTRY_POINT void _passRegGet(int index, mxnet::ext::graphPass_t* body, const char** name) {
  *body = nullptr;
  *name = "";
  if (minpy::graph_table() != nullptr) minpy::graph_table()->pass(index, body, name);
}

MINPY_ENTRY_POINT int _passCallGraphPass(mxnet::ext::graphPass_t body, const char* json, char** out_json,
                                         const char* const* keys, const char* const* values, int num,
                                         const char* pass_name, MINPY_PARAMETERS(arg), MINPY_PARAMETERS(aux),
                                         mxnet::ext::nd_malloc_t nd_malloc, const void* nd_handle) {
  if (minpy::graph_table() == nullptr) return 0;
  return minpy::graph_table()->run_pass(body, json, out_json, keys, values, num, pass_name,
                                        MINPY_PARAMETER_NAMES(arg), MINPY_PARAMETER_NAMES(aux), nd_malloc,
                                        nd_handle);
}

#undef MINPY_PARAMETERS
#undef MINPY_PARAMETER_NAMES
#undef MINPY_PARAMETER_TENSORS

#endif  // MINPY_GRAPH_ENTRY_POINTS_H_
