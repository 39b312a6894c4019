/// Partitioners, which choose the parts of a graph that become operators of the library, and graph passes,
/// which edit a whole graph.
#ifndef MINPY_PARTITIONER_H_
#define MINPY_PARTITIONER_H_

#include "graph.h"
#include "platform.h"
#include "registry.h"

/// Registers a partitioner: `REGISTER_PARTITIONER(mine).addStrategy("s", "my_op").setSupportedOps("s", f);`
#define REGISTER_PARTITIONER(Name) MINPY_REGISTER(CustomPartitioner, Name)

/// Registers a graph pass: `REGISTER_PASS(my_pass).setBody(pass);`
#define REGISTER_PASS(Name) MINPY_REGISTER(CustomPass, Name)

namespace minpy PRIVATE_SYMBOL {

/// Makes the entry points of partitioners and passes do their work (graph_entry_points.h).
inline void serve_graphs();

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// Grows subgraphs: asked whether a node may begin one, then whether it extends to inputs and consumers of
/// nodes in it.
class CustomOpSelector {
 public:
  virtual ~CustomOpSelector() {}

  virtual bool Select(int node_id) = 0;
  virtual bool SelectInput(int node_id, int input_node_id) = 0;
  virtual bool SelectOutput(int node_id, int output_node_id) = 0;

  /// The nodes of a grown subgraph that it shall keep.
  virtual void Filter(const std::vector<int>& candidates, std::vector<int>* keep) {
    keep->insert(keep->end(), candidates.begin(), candidates.end());
  }

  /// Growing starts again from the same node.
  virtual void Reset() {}
};

/// Gives each node of `ids` a code: -2 for not supported, -1 for any subgraph, from 0 for that one.
typedef MXReturnValue (*supportedOps_t)(const Graph* graph, std::vector<int>* ids,
                                        const std::unordered_map<std::string, std::string>& options);
typedef MXReturnValue (*createSelector_t)(const Graph* graph, CustomOpSelector** selector,
                                          const std::unordered_map<std::string, std::string>& options);
typedef MXReturnValue (*reviewSubgraph_t)(const Graph* subgraph, int subgraph_id, bool* accept,
                                          const std::unordered_map<std::string, std::string>& options,
                                          std::unordered_map<std::string, std::string>* attrs);
typedef MXReturnValue (*graphPass_t)(Graph* graph,
                                     const std::unordered_map<std::string, std::string>& options);

/// A registered partitioner. Each strategy needs `setSupportedOps` or `setCreateSelector`.
class PRIVATE_SYMBOL CustomPartitioner {
 public:
  explicit CustomPartitioner(const char* partitioner_name) : name(partitioner_name) { minpy::serve_graphs(); }

  /// A strategy whose subgraphs are run by operator `subgraph_op`.
  CustomPartitioner& addStrategy(const char* strategy, const char* subgraph_op) {
    if (named("addStrategy", strategy) && named("addStrategy", subgraph_op)) {
      strategies.push_back({strategy, subgraph_op});
    }
    return *this;
  }
  CustomPartitioner& setSupportedOps(const char* strategy, supportedOps_t function) {
    if (named("setSupportedOps", strategy)) supported_ops_[strategy] = function;
    return *this;
  }
  CustomPartitioner& setCreateSelector(const char* strategy, createSelector_t function) {
    if (named("setCreateSelector", strategy)) create_selectors_[strategy] = function;
    return *this;
  }
  CustomPartitioner& setReviewSubgraph(const char* strategy, reviewSubgraph_t function) {
    if (named("setReviewSubgraph", strategy)) review_subgraphs_[strategy] = function;
    return *this;
  }

  /// Functions by the number of the strategy; null if there is none.
  supportedOps_t getSupportedOps(int strategy) const { return by_strategy(supported_ops_, strategy); }
  createSelector_t getCreateSelector(int strategy) const { return by_strategy(create_selectors_, strategy); }
  reviewSubgraph_t getReviewSubgraph(int strategy) const { return by_strategy(review_subgraphs_, strategy); }

  /// Says which functions no strategy will use, as their names belong to none.
  void report_unknown_strategies() {
    report_unknown("setSupportedOps", supported_ops_);
    report_unknown("setCreateSelector", create_selectors_);
    report_unknown("setReviewSubgraph", review_subgraphs_);
  }

  struct Strategy {
    std::string name;
    std::string subgraph_op;
  };

  const std::string name;
  std::vector<Strategy> strategies;

 private:
  bool named(const char* setter, const char* given) const {
    if (given == nullptr) {
      minpy::report_registration("partitioner '" + name + "': " + setter + " was given null as a name");
    }
    return given != nullptr;
  }

  template <class Function>
  void report_unknown(const char* setter, const std::map<std::string, Function>& functions) const {
    for (const auto& entry : functions) {
      const auto is_it = [&](const Strategy& strategy) { return strategy.name == entry.first; };
      if (std::none_of(strategies.begin(), strategies.end(), is_it)) {
        minpy::report_registration("partitioner '" + name + "': " + setter + " is for strategy '" +
                                   entry.first + "', which addStrategy did not add");
      }
    }
  }

  template <class Function>
  Function by_strategy(const std::map<std::string, Function>& functions, int strategy) const {
    const auto found = functions.find(strategies.at(static_cast<std::size_t>(strategy)).name);
    return found != functions.end() ? found->second : nullptr;
  }

  std::map<std::string, supportedOps_t> supported_ops_;
  std::map<std::string, createSelector_t> create_selectors_;
  std::map<std::string, reviewSubgraph_t> review_subgraphs_;
};

/// A registered graph pass.
class PRIVATE_SYMBOL CustomPass {
 public:
  explicit CustomPass(const char* pass_name) : name(pass_name) { minpy::serve_graphs(); }

  CustomPass& setBody(graphPass_t function) {
    body = function;
    return *this;
  }

  const std::string name;
  graphPass_t body = nullptr;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_PARTITIONER_H_
