// Subgraphs of elementwise operators, which the library evaluates itself; and a pass that rewrites graphs of them.
//
// Written for the header of MXNet 1.9, with all that partitioners and passes may do: both ways to choose nodes, a
// selector that keeps the graph and drops nodes, a review that reads the values of arguments, several inputs and
// outputs, inputs that a pass appends, parameters that it makes and removes.

#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mxnet/lib_api.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attrs;
typedef std::vector<double> Values;

std::string option(const Attrs& options, const std::string& key, const std::string& otherwise) {
    const auto found = options.find(key);
    return found == options.end() ? otherwise : found->second;
}

bool listed(const std::string& list, const std::string& name) {
    return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

// -- evaluating -----------------------------------------------------------------------------------------------------

bool is_known(const Node& node) { return listed("exp,log,negative,elemwise_add,elemwise_mul", node.op); }

struct Step {
    std::string op;
    size_t first, second;  // of the values: inputs come before what is computed
};

struct Program {
    size_t inputs = 0;
    std::vector<Step> steps;
    std::vector<size_t> heads;

    bool read(const std::string& json) {
        const std::unique_ptr<Graph> graph(Graph::fromString(json));
        std::unordered_map<const Node*, size_t> places;
        inputs = graph->inputs.size();
        for (size_t i = 0; i < inputs; ++i) places[graph->inputs[i]] = i;
        for (size_t i = 0; i < graph->size(); ++i) {  // nodes come after what they read
            const Node* node = graph->getNode(i);
            if (node->op == "null") continue;
            if (!is_known(*node)) {
                MX_ERROR_MSG << "cannot evaluate " << node->op << ", named " << node->name;
                return false;
            }
            const size_t first = places.at(node->inputs.at(0).node);
            const size_t second = node->inputs.size() > 1 ? places.at(node->inputs[1].node) : first;
            steps.push_back({node->op, first, second});
            const size_t place = inputs + steps.size() - 1;
            places[node] = place;
        }
        for (const NodeEntry& head : graph->outputs) heads.push_back(places.at(head.node));
        return true;
    }
};

Values read_tensor(MXTensor& tensor) {
    Values values(tensor.size());
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = tensor.dtype == kFloat64 ? tensor.data<double>()[i] : tensor.data<float>()[i];
    return values;
}

void write_tensor(const Values& values, MXTensor* tensor) {
    for (size_t i = 0; i < values.size(); ++i) {
        if (tensor->dtype == kFloat64)
            tensor->data<double>()[i] = values[i];
        else
            tensor->data<float>()[i] = static_cast<float>(values[i]);
    }
}

class Evaluator : public CustomStatefulOp {
 public:
    Evaluator(Program program, double scale) : program_(program), scale_(scale) {}

    MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
        std::vector<Values> values = evaluate(*inputs, 0);
        double added = 0;  // of inputs that a pass has appended
        for (size_t i = program_.inputs; i < inputs->size(); ++i) added += read_tensor(inputs->at(i)).at(0);
        for (size_t k = 0; k < program_.heads.size(); ++k) {
            Values& value = values[program_.heads[k]];
            for (double& number : value) number += added;
            write_tensor(value, &outputs->at(k));
            for (double& number : value) number -= added;
        }
        return MX_SUCCESS;
    }

    MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource&) {
        const size_t heads = program_.heads.size();
        const std::vector<Values> values = evaluate(*inputs, heads);
        std::vector<Values> gradients(values.size(), Values(values[0].size()));
        double added = 0;
        for (size_t k = 0; k < heads; ++k) {
            const Values upstream = read_tensor(inputs->at(k));
            for (size_t i = 0; i < upstream.size(); ++i) {
                gradients[program_.heads[k]][i] += upstream[i];
                added += upstream[i];
            }
        }
        for (size_t step = program_.steps.size(); step-- > 0;) {
            const Step& at = program_.steps[step];
            const Values& g = gradients[program_.inputs + step];
            for (size_t i = 0; i < g.size(); ++i) {
                const double x = values[at.first][i], y = values[at.second][i];
                const double result = values[program_.inputs + step][i];
                if (at.op == "exp") gradients[at.first][i] += g[i] * result * scale_;
                if (at.op == "log") gradients[at.first][i] += g[i] / x;
                if (at.op == "negative") gradients[at.first][i] -= g[i];
                if (at.op == "elemwise_add") gradients[at.first][i] += g[i], gradients[at.second][i] += g[i];
                if (at.op == "elemwise_mul") gradients[at.first][i] += g[i] * y, gradients[at.second][i] += g[i] * x;
            }
        }
        for (size_t i = 0; i < outputs->size(); ++i)
            write_tensor(i < program_.inputs ? gradients[i] : Values(outputs->at(i).size(), added), &outputs->at(i));
        return MX_SUCCESS;
    }

 private:
    std::vector<Values> evaluate(std::vector<MXTensor>& given, size_t from) const {
        std::vector<Values> values;
        for (size_t i = 0; i < program_.inputs; ++i) values.push_back(read_tensor(given.at(from + i)));
        for (const Step& step : program_.steps) {
            const Values &x = values[step.first], &y = values[step.second];
            Values result(x.size());
            for (size_t i = 0; i < x.size(); ++i)
                result[i] = step.op == "exp"            ? std::exp(x[i])
                            : step.op == "log"          ? std::log(x[i])
                            : step.op == "negative"     ? -x[i]
                            : step.op == "elemwise_add" ? x[i] + y[i]
                                                        : x[i] * y[i];
            values.push_back(result);
        }
        return values;
    }

    const Program program_;
    const double scale_;  // a wrong gradient, for those who want to see it used
};

MXReturnValue create_state(const Attrs& attrs, const MXContext& context, const std::vector<std::vector<unsigned int>>&,
                           const std::vector<int> types, CustomStatefulOp** state) {
    for (const int type : types)
        if (type != kFloat32 && type != kFloat64) {
            MX_ERROR_MSG << "cannot evaluate the type " << type;
            return MX_FAIL;
        }
    Program program;
    if (context.dev_type != "cpu" || !program.read(option(attrs, MX_STR_SUBGRAPH_SYM_JSON, "{}"))) return MX_FAIL;
    *state = CustomStatefulOp::create<Evaluator>(program, std::stod(option(attrs, "scale", "1")));
    return MX_SUCCESS;
}

REGISTER_OP(_evaluated).setIsSubgraphOp().setCreateOpState(create_state, "cpu");
REGISTER_OP(_evaluated_too).setIsSubgraphOp().setCreateOpState(create_state, "cpu");

// -- partitioning ---------------------------------------------------------------------------------------------------

MXReturnValue supported(const Graph* graph, std::vector<int>* ids, const Attrs& options) {
    for (size_t i = 0; i < graph->size(); ++i) {
        const Node* node = graph->getNode(i);
        if (is_known(*node) && !listed(option(options, "without", ""), node->name)) ids->at(i) = -1;
    }
    return MX_SUCCESS;
}

// Says at the node what was seen: names, where they come from, and sums of the values that are known.
MXReturnValue review(const Graph* graph, int id, bool* accept, const Attrs& options, Attrs* attrs) {
    if (option(options, "review", "") == "fail") {
        MX_ERROR_MSG << "subgraph " << id << " of " << graph->size() << " nodes is not wanted";
        return MX_FAIL;
    }
    std::string seen;
    for (Node* input : graph->inputs) {
        seen += (seen.empty() ? "" : " ") + input->name;
        if (input->tensor) {
            double sum = 0;
            for (const double number : read_tensor(*input->tensor)) sum += number;
            seen += "=" + std::to_string(sum) + (input->attrs.at("isAux") == "True" ? "(aux)" : "");
        }
    }
    (*attrs)["seen"] = seen;
    (*attrs)["number"] = std::to_string(id);
    if (option(options, "review", "") != "silent") *accept = option(options, "reject", "") != std::to_string(id);
    return MX_SUCCESS;
}

class Chooser : public CustomOpSelector {
 public:
    Chooser(const Graph* graph, const Attrs& options) : graph_(graph), options_(options) {}
    bool Select(int id) { return listed(option(options_, "seeds", "exp,log"), graph_->getNode(id)->op); }
    bool SelectInput(int, int id) { return takes(id); }
    bool SelectOutput(int, int id) { return takes(id); }
    void Filter(const std::vector<int>& candidates, std::vector<int>* keep) {
        for (const int id : candidates)
            if (!listed(option(options_, "drop", ""), graph_->getNode(id)->name)) keep->push_back(id);
        std::vector<int>(keep->rbegin(), keep->rend()).swap(*keep);  // in any order
    }
    void Reset() { ++resets_; }

 private:
    bool takes(int id) const {
        const Node* node = graph_->getNode(id);
        return is_known(*node) && (resets_ == 0 || node->op != "negative");
    }
    const Graph* graph_;
    const Attrs options_;
    int resets_ = 0;
};

MXReturnValue choose(const Graph* graph, CustomOpSelector** selector, const Attrs& options) {
    if (option(options, "selector", "") == "fail") {
        MX_ERROR_MSG << "no selector for " << graph->size() << " nodes";
        return MX_FAIL;
    }
    if (option(options, "selector", "") != "none") *selector = new Chooser(graph, options);
    return MX_SUCCESS;
}

REGISTER_PARTITIONER(evaluated)
    .addStrategy("supported", "_evaluated")
    .setSupportedOps("supported", supported)
    .setReviewSubgraph("supported", review);
REGISTER_PARTITIONER(evaluated_chosen)
    .addStrategy("chosen", "_evaluated")
    .setCreateSelector("chosen", choose)
    .setReviewSubgraph("chosen", review);
REGISTER_PARTITIONER(evaluated_twice)
    .addStrategy("chosen", "_evaluated")
    .setCreateSelector("chosen", choose)
    .addStrategy("the rest", "_evaluated_too")
    .setSupportedOps("the rest", supported)
    .setReviewSubgraph("the rest", review);

// -- rewriting ------------------------------------------------------------------------------------------------------

// Lets whoever reads `old` read `with`; nobody reads `old` then.
void replace(Graph* graph, Node* old, Node* with) {
    for (const NodeEntry& reader : old->outputs) {
        reader.node->inputs[reader.entry].node = with;
        with->outputs.push_back(reader);
    }
    old->outputs.clear();
    for (NodeEntry& head : graph->outputs)
        if (head.node == old) head.node = with;
    for (const NodeEntry& source : old->inputs) {
        std::vector<NodeEntry> others;
        for (const NodeEntry& reader : source.node->outputs)
            if (reader.node != old) others.push_back(reader);
        source.node->outputs.swap(others);
    }
}

// Products with an argument w become products with an argument w_scaled, of other values, if w is known. With
// `append`, all subgraph operators get an input.
MXReturnValue rescale(Graph* graph, const Attrs& options) {
    if (option(options, "pass", "") == "fail") {
        MX_ERROR_MSG << "not today";
        return MX_FAIL;
    }
    const double factor = std::stod(option(options, "factor", "2"));
    const size_t count = graph->size();
    for (size_t i = 0; i < count; ++i) {
        Node* node = graph->getNode(i);
        if (node->op == "elemwise_mul") {
            Node* weight = node->inputs.at(1).node;
            if (weight->op != "null" || !weight->tensor) continue;
            Values values = read_tensor(*weight->tensor);
            for (double& number : values) number *= factor;
            Node* scaled = graph->addNode(weight->name + "_scaled", "null");
            scaled->alloc_arg(weight->tensor->shape, MXContext::CPU(0), weight->tensor->dtype);
            write_tensor(values, scaled->tensor);
            Node* product = graph->addNode(node->name + "_scaled", "elemwise_mul");
            product->inputs = {node->inputs[0], {scaled, 0}};
            node->inputs[0].node->outputs.push_back({product, 0});
            scaled->outputs.push_back({product, 1});
            replace(graph, node, product);
        }
        if (!node->subgraphs.empty() && options.count("append")) {
            Node* added = graph->addNode(node->name + "_input" + std::to_string(i), "null");
            added->alloc_arg({1}, MXContext::CPU(0), kFloat32);
            added->tensor->data<float>()[0] = std::stof(options.at("append"));
            node->attrs[MX_STR_EXTRA_INPUTS] = std::to_string(1);
            node->inputs.push_back({added, 0});
            added->outputs.push_back({node, static_cast<int>(node->inputs.size()) - 1});
        }
    }
    // What nobody reads is no input of the graph any more.
    std::vector<Node*> inputs;
    for (size_t i = 0; i < graph->size(); ++i) {
        Node* node = graph->getNode(i);
        if (node->op == "null" && !node->outputs.empty()) inputs.push_back(node);
    }
    graph->inputs.swap(inputs);
    return MX_SUCCESS;
}

REGISTER_PASS(rescaled).setBody(rescale);

}  // namespace

MXReturnValue initialize(int version) { return version >= 10700 ? MX_SUCCESS : MX_FAIL; }
