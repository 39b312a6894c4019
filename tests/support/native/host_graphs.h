// Calls of partitioners and passes.
#ifndef HOST_GRAPHS_H_
#define HOST_GRAPHS_H_

#include "host_operators.h"

namespace {

// ---- graphs
// ------------------------------------------------------------------------------------------------

#define PARAMETERS                                                                                     \
  const char* const*, int, void* const*, const int64_t* const*, const int*, const int*, const size_t*, \
      const char* const*, const int*
#define PARAMS(names, side)                                                                             \
  names.data(), static_cast<int>(names.size()), side.data.data(), side.shapes.data(), side.dims.data(), \
      side.types.data(), side.versions.data(), side.devices.data(), side.device_ids.data()

// clang-format off
const char GRAPH[] =
    R"({"nodes":[{"op":"null","name":"a","inputs":[]},)"
    R"({"op":"null","name":"b","attrs":{"__shape__":"[3,2]"},"inputs":[]},)"
    R"({"op":"exp","name":"e","inputs":[[0,0,0]]},)"
    R"({"op":"split","name":"sp","attrs":{"num_outputs":"2"},"inputs":[[1,0,0]]},)"
    R"({"op":"log","name":"l","inputs":[[3,1,0]]},)"
    R"({"op":"elemwise_add","name":"sum","inputs":[[2,0],[4,0]]},)"
    R"({"op":"_zeros","name":"z","attrs":{},"inputs":[]},)"
    R"({"op":"outer","name":"o","inputs":[[5,0,0],[6,0,0],[5,0,0]],"subgraphs":[)"
    R"({"nodes":[{"op":"null","name":"x0","inputs":[]},{"op":"exp","name":"i","inputs":[[0,0,0]]}],)"
    R"("arg_nodes":[0],"node_row_ptr":[0,1,2],"heads":[[1,0,0]]}]}],"arg_nodes":[0,1],)"
    R"("node_row_ptr":[0,1,2,3,5,6,7,8,9],"heads":[[7,0,0],[3,0,0]],"extra":{"k":[1,"v"]}})";

const char SUBGRAPH[] =
    R"({"nodes":[{"op":"null","name":"a0","attrs":{"isArg":"True","argName":"a"},"inputs":[]},)"
    R"({"op":"null","name":"s_output0","attrs":{"isArg":"False"},"inputs":[]},)"
    R"({"op":"null","name":"b","inputs":[]},)"
    R"({"op":"elemwise_add","name":"p","inputs":[[0,0,0],[1,0,0]]}],"arg_nodes":[0,1,2],"heads":[[3,0,0]]})";
// clang-format on

struct Allocated {
  std::list<std::vector<char>> blocks;
  std::vector<std::string> asked;
  bool gives = true;
};

void allocate(const void* handle, const int64_t* shape, int ndim, const char* device, int device_id,
              int dtype, const char* name, int is_arg, void** data) {
  Allocated* made = static_cast<Allocated*>(const_cast<void*>(handle));
  made->asked.push_back(std::string(name) + " " + show(std::vector<int64_t>(shape, shape + ndim)) + " " +
                        device + std::to_string(device_id) + " dtype " + std::to_string(dtype) +
                        (is_arg ? " arg" : " aux"));
  if (!made->gives) return;
  made->blocks.push_back(std::vector<char>(64));
  *data = made->blocks.back().data();
}

F pass_named(const std::string& wanted) {
  for (int i = 0; i < symbol<int()>("_passRegSize")(); ++i) {
    const char* name = nullptr;
    F body;
    symbol<void(int, F*, const char**)>("_passRegGet")(i, &body, &name);
    if (name == wanted) return body;
  }
  throw std::runtime_error("no pass " + wanted);
}

std::string pass(const std::string& name, const std::string& json, const Texts& options, bool gives = true) {
  const Strings given(options);
  Allocated made;
  made.gives = gives;
  std::vector<Array> arg_arrays = {floats({1, 2}), floats({3})}, aux_arrays = {floats({7})};
  Side args(&arg_arrays, false), aux(&aux_arrays, false);
  const std::vector<const char*> arg_names = {"a", "nobody"}, aux_names = {"b"};
  return tried([&] {
    char* out = nullptr;
    const int status = symbol<int(
        F, const char*, char**, KV, const char*, PARAMETERS, PARAMETERS,
        void (*)(const void*, const int64_t*, int, const char*, int, int, const char*, int, void**),
        const void*)>("_passCallGraphPass")(pass_named(name), json.c_str(), &out, GIVEN(given), name.c_str(),
                                            PARAMS(arg_names, args), PARAMS(aux_names, aux), allocate, &made);
    std::string text = std::to_string(status);
    if (status)
      text += strlen(out) > 4000 ? " " + std::to_string(strlen(out)) + " characters" : std::string(" ") + out;
    for (const std::string& asked : made.asked) text += " | " + asked;
    for (const auto& block : made.blocks) {
      float first;
      memcpy(&first, block.data(), sizeof first);
      std::ostringstream number;
      number << first;
      text += " = " + number.str();
    }
    symbol<void(void*)>("_opCallFree")(out);
    return text;
  });
}

struct Strategy {
  F supported, selector, review;
};

Strategy strategy_of(int partitioner, int strategy) {
  Strategy found;
  const char *name, *op;
  symbol<void(int, int, const char**, F*, F*, F*, const char**)>("_partRegGet")(
      partitioner, strategy, &name, &found.supported, &found.selector, &found.review, &op);
  return found;
}

std::string supported(const Texts& options) {
  const Strings given(options);
  return tried([&] {
    std::vector<int> ids(8, -2);
    const int status = symbol<int(F, const char*, int, int*, KV)>("_partCallSupportedOps")(
        strategy_of(0, 0).supported, GRAPH, 8, ids.data(), GIVEN(given));
    return std::to_string(status) + " " + show(ids);
  });
}

std::string select(const Texts& options) {
  const Strings given(options);
  return tried([&] {
    void* selector = nullptr;
    const int status = symbol<int(F, const char*, void**, KV)>("_partCallCreateSelector")(
        strategy_of(1, 0).selector, GRAPH, &selector, GIVEN(given));
    std::string text = std::to_string(status);
    if (!status) return text;
    int selected = 7;
    for (int node : {0, 2, 4}) {
      symbol<void(void*, int, int*)>("_partCallSelect")(selector, node, &selected);
      text += " " + std::to_string(selected);
    }
    symbol<void(void*, int, int, int*)>("_partCallSelectInput")(selector, 5, 2, &selected);
    text += " in " + std::to_string(selected);
    symbol<void(void*, int, int, int*)>("_partCallSelectOutput")(selector, 3, 4, &selected);
    text += " out " + std::to_string(selected);
    int candidates[] = {2, 4, 5}, *keep = nullptr, kept = 0;
    symbol<void(void*, int*, int, int**, int*)>("_partCallFilter")(selector, candidates, 3, &keep, &kept);
    text += " keep " + show(std::vector<int>(keep, keep + kept));
    symbol<void(void*)>("_opCallFree")(keep);
    symbol<void(void*)>("_partCallReset")(selector);
    // A selector is done with when its host says so, if the library can hear it.
    void* release = dlsym(library, "_partCallReleaseSelector");
    if (release != nullptr) reinterpret_cast<void (*)(void*)>(release)(selector);
    return text;
  });
}

std::string reviewed(int number, const Texts& options, const char* json = SUBGRAPH) {
  const Strings given(options);
  std::vector<Array> arg_arrays = {floats({1.5}), floats({3})}, aux_arrays = {floats({7})};
  Side args(&arg_arrays, false), aux(&aux_arrays, false);
  const std::vector<const char*> arg_names = {"a", "s_output0"}, aux_names = {"b"};
  return tried([&] {
    int accept = 1, count = 0;
    char **keys = nullptr, **texts = nullptr;
    const int status =
        symbol<int(F, const char*, int, int*, KV, char***, char***, int*, PARAMETERS, PARAMETERS)>(
            "_partCallReviewSubgraph")(strategy_of(0, 0).review, json, number, &accept, GIVEN(given), &keys,
                                       &texts, &count, PARAMS(arg_names, args), PARAMS(aux_names, aux));
    std::string text = std::to_string(status);
    if (status) text += " accept " + std::to_string(accept);
    const auto release = symbol<void(void*)>("_opCallFree");
    std::map<std::string, std::string> sorted;
    for (int i = 0; i < count; ++i) {
      sorted[keys[i]] = texts[i];
      release(keys[i]);
      release(texts[i]);
    }
    release(keys);
    release(texts);
    for (const auto& attribute : sorted) text += " " + attribute.first + "=" + attribute.second;
    return text;
  });
}

}  // namespace

#endif  // HOST_GRAPHS_H_
