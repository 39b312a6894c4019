// A host in C++ that knows nothing of the header: loads the library named by its argument, calls every
// function of it, and writes what comes back, one answer a line: its name, a tab, the answer.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

typedef std::vector<std::pair<std::string, std::string>> Texts;
typedef void* F;

void* library = nullptr;

template <class Signature>
Signature* symbol(const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("no symbol ") + name);
  return reinterpret_cast<Signature*>(found);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text)
    result += c == '\n' ? std::string("\\n") : c == '\t' ? std::string("\\t") : std::string(1, c);
  return result;
}

void say(const std::string& name, const std::string& answer) {
  printf("%s\t%s\n", name.c_str(), escaped(answer).c_str());
  fflush(stdout);
}

template <class T>
std::string show(const std::vector<T>& values) {
  std::ostringstream text;
  text << "[";
  for (size_t i = 0; i < values.size(); ++i) text << (i ? "," : "") << +values[i];
  return text.str() + "]";
}

/// Messages since the last time, each without its file and line, which differ from header to header.
std::string news() {
  static int seen = 0;
  std::string all;
  const int size = symbol<int()>("_msgSize")();
  for (; seen < size; ++seen) {
    const char* text = nullptr;
    symbol<void(int, const char**)>("_msgGet")(seen, &text);
    const char* rest = strstr(text, "]: ");
    std::string line = rest ? rest + 3 : text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    all += " !" + line;
  }
  return all;
}

/// The status that a call returns, or what it throws, with the new messages.
std::string tried(const std::function<std::string()>& call) {
  std::string answer;
  try {
    answer = call();
  } catch (const std::exception& error) {
    answer = std::string("threw ") + error.what();
  } catch (int error) {
    answer = "threw " + std::to_string(error);
  }
  return answer + news();
}

struct Strings {
  explicit Strings(const Texts& texts) : texts_(texts) {
    for (const auto& text : texts_) {
      keys.push_back(text.first.c_str());
      values.push_back(text.second.c_str());
    }
  }
  int size() const { return static_cast<int>(keys.size()); }
  std::vector<const char*> keys, values;

 private:
  Texts texts_;
};

#define KV const char* const*, const char* const*, int
#define GIVEN(strings) strings.keys.data(), strings.values.data(), strings.size()

// ---- what is registered
// ------------------------------------------------------------------------------------

struct Operator {
  std::string name;
  int is_subgraph;
  std::map<std::string, F> forward, backward, create;
  F parse, type, storage, shape, mutate;
};

std::map<std::string, Operator> operators;

std::map<std::string, F> by_device(const char** devices, F* functions, int count) {
  std::map<std::string, F> result;
  for (int i = 0; i < count; ++i) result[devices[i]] = functions[i];
  return result;
}

Operator registered(int index) {
  Operator op = {};
  const char *name = nullptr, **forward_devices, **backward_devices, **create_devices;
  F *forward, *backward, *create;
  int forward_count, backward_count, create_count;
  symbol<void(int, const char**, int*, const char***, F**, int*, const char***, F**, int*, const char***, F**,
              int*, F*, F*, F*, F*, F*)>("_opRegGet")(
      index, &name, &op.is_subgraph, &forward_devices, &forward, &forward_count, &backward_devices, &backward,
      &backward_count, &create_devices, &create, &create_count, &op.parse, &op.type, &op.storage, &op.shape,
      &op.mutate);
  op.name = name;
  op.forward = by_device(forward_devices, forward, forward_count);
  op.backward = by_device(backward_devices, backward, backward_count);
  op.create = by_device(create_devices, create, create_count);
  return op;
}

void list_registered() {
  const int count = symbol<int()>("_opRegSize")();
  for (int i = 0; i < count; ++i) {
    const Operator op = operators[registered(i).name] = registered(i);
    std::string text = op.name + (op.is_subgraph ? " subgraph" : "");
    for (const auto& f : op.forward) text += " forward " + f.first;
    for (const auto& f : op.backward) text += " backward " + f.first;
    for (const auto& f : op.create) text += " create " + f.first;
    text += op.parse ? " parse" : "";
    text += op.type ? " type" : "";
    text += op.storage ? " storage" : "";
    text += op.shape ? " shape" : "";
    text += op.mutate ? " mutate" : "";
    say("operator " + std::to_string(i), text);
  }
  for (int i = 0; i < symbol<int()>("_partRegSize")(); ++i) {
    const char* name = nullptr;
    const int strategies = symbol<int(int, const char**)>("_partRegGetCount")(i, &name);
    std::string text = name;
    for (int j = 0; j < strategies; ++j) {
      const char *strategy, *op;
      F supported, selector, reviewer;
      symbol<void(int, int, const char**, F*, F*, F*, const char**)>("_partRegGet")(
          i, j, &strategy, &supported, &selector, &reviewer, &op);
      text += std::string(" ") + strategy + "->" + op + (supported ? " supported" : "") +
              (selector ? " selector" : "") + (reviewer ? " review" : "");
    }
    say("partitioner " + std::to_string(i), text);
  }
  for (int i = 0; i < symbol<int()>("_passRegSize")(); ++i) {
    const char* name = nullptr;
    F body;
    symbol<void(int, F*, const char**)>("_passRegGet")(i, &body, &name);
    say("pass " + std::to_string(i), std::string(name) + (body ? " body" : ""));
  }
}

// ---- inference
// ---------------------------------------------------------------------------------------------

typedef std::vector<std::vector<unsigned int>> Shapes;

std::string parse(const std::string& name, const Texts& attributes) {
  const Strings given(attributes);
  return tried([&] {
    int in = -1, out = -1;
    const int status = symbol<int(F, KV, int*, int*)>("_opCallParseAttrs")(operators.at(name).parse,
                                                                           GIVEN(given), &in, &out);
    return std::to_string(status) + (status ? " " + std::to_string(in) + " " + std::to_string(out) : "");
  });
}

std::string infer_shape(const std::string& name, const Texts& attributes, Shapes shapes, int outputs,
                        int unknown_dims = 0) {
  const Strings given(attributes);
  return tried([&] {
    std::vector<unsigned int*> in;
    std::vector<int> dims;
    for (auto& shape : shapes) {
      in.push_back(shape.data());
      dims.push_back(shape.empty() ? unknown_dims : static_cast<int>(shape.size()));
    }
    const int num_in = static_cast<int>(in.size());
    unsigned int **mod_in = nullptr, **out = nullptr;
    int *mod_dims = nullptr, *out_dims = nullptr;
    const int status =
        symbol<int(F, KV, unsigned int**, int*, int, unsigned int***, int**, unsigned int***, int**, int)>(
            "_opCallInferShape")(operators.at(name).shape, GIVEN(given), in.data(), dims.data(), num_in,
                                 &mod_in, &mod_dims, &out, &out_dims, outputs);
    std::string text = std::to_string(status);
    if (!status) return text;
    const auto release = symbol<void(void*)>("_opCallFree");
    const auto take = [&](unsigned int** arrays, int* lengths, int count) {
      for (int i = 0; i < count; ++i) {
        text += " " + show(std::vector<unsigned int>(arrays[i], arrays[i] + lengths[i]));
        release(arrays[i]);
      }
      release(arrays);
      release(lengths);
    };
    take(mod_in, mod_dims, num_in);
    text += " ->";
    take(out, out_dims, outputs);
    return text;
  });
}

std::string infer_codes(const std::string& name, const char* function, const Texts& attributes,
                        std::vector<int> in, int outputs) {
  const Strings given(attributes);
  return tried([&] {
    std::vector<int> out(static_cast<size_t>(outputs), 77);
    const Operator& op = operators.at(name);
    const int status = symbol<int(F, KV, int*, int, int*, int)>(function)(
        strcmp(function, "_opCallInferType") == 0 ? op.type : op.storage, GIVEN(given), in.data(),
        static_cast<int>(in.size()), out.data(), outputs);
    return std::to_string(status) + " " + show(in) + " -> " + show(out);
  });
}

std::string mutated(const std::string& name, const Texts& attributes) {
  const Strings given(attributes);
  return tried([&] {
    int *indices = nullptr, count = 0;
    const int status = symbol<int(F, KV, int**, int*)>("_opCallMutateInputs")(operators.at(name).mutate,
                                                                              GIVEN(given), &indices, &count);
    const std::string text = std::to_string(status) + " " + show(std::vector<int>(indices, indices + count));
    symbol<void(void*)>("_opCallFree")(indices);
    return text;
  });
}

// ---- compute
// -----------------------------------------------------------------------------------------------

struct Array {
  std::vector<int64_t> shape;
  int type;
  std::vector<char> bytes;
  int storage;
  std::vector<int64_t> indices, indptr;
};

template <class T>
Array array(int type, const std::vector<T>& values, std::vector<int64_t> shape = {-1}) {
  Array made = {shape, type, std::vector<char>(values.size() * sizeof(T)), 0, {}, {}};
  if (shape == std::vector<int64_t>{-1}) made.shape = {static_cast<int64_t>(values.size())};
  if (!values.empty()) memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

Array floats(const std::vector<float>& values) { return array(0, values); }

template <class T>
std::vector<T> values(const Array& from) {
  std::vector<T> result(from.bytes.size() / sizeof(T));
  if (!result.empty()) memcpy(result.data(), from.bytes.data(), result.size() * sizeof(T));
  return result;
}

struct Memory {
  std::list<std::vector<char>> blocks;
  std::vector<Array>* outputs = nullptr;
  bool gives = true;
  bool ends_thread = false;
};

void* give(void* handle, int bytes) {
  Memory* memory = static_cast<Memory*>(handle);
  if (memory->ends_thread) pthread_exit(nullptr);
  if (!memory->gives || bytes < 0) return nullptr;
  memory->blocks.push_back(std::vector<char>(static_cast<size_t>(bytes) + 1));
  return memory->blocks.back().data();
}

void give_sparse(void* handle, int index, int indices_len, int indptr_len, void** data, int64_t** indices,
                 int64_t** indptr) {
  Memory* memory = static_cast<Memory*>(handle);
  if (!memory->gives) return;
  Array& output = memory->outputs->at(static_cast<size_t>(index));
  int64_t row = 1;
  if (indptr_len == 0) row = output.shape.at(1);
  output.bytes.resize(static_cast<size_t>(indices_len * row) * sizeof(float) + 1);
  output.indices.resize(static_cast<size_t>(indices_len) + 1);
  *data = output.bytes.data();
  *indices = output.indices.data();
  if (indptr_len > 0) {
    output.indptr.resize(static_cast<size_t>(indptr_len) + 1);
    *indptr = output.indptr.data();
  }
}

/// The C arrays of some tensors.
struct Side {
  explicit Side(std::vector<Array>* arrays, bool fresh) {
    for (Array& a : *arrays) {
      shapes.push_back(a.shape.data());
      dims.push_back(static_cast<int>(a.shape.size()));
      const bool empty = a.bytes.empty() || (fresh && a.storage != 0);
      data.push_back(empty ? nullptr : static_cast<void*>(a.bytes.data()));
      types.push_back(a.type);
      versions.push_back(1);
      devices.push_back("cpu");
      device_ids.push_back(0);
      storage.push_back(a.storage);
      indices.push_back(a.indices.empty() ? nullptr : a.indices.data());
      indptr.push_back(a.indptr.empty() ? nullptr : a.indptr.data());
      indices_len.push_back(static_cast<int64_t>(a.indices.size()));
      indptr_len.push_back(static_cast<int64_t>(a.indptr.size()));
    }
  }
  std::vector<const int64_t*> shapes;
  std::vector<int> dims, types, device_ids, storage;
  std::vector<void*> data, indices, indptr;
  std::vector<size_t> versions;
  std::vector<const char*> devices;
  std::vector<int64_t> indices_len, indptr_len;
};

#define TENSORS                                                                                           \
  const int64_t**, int*, void**, int*, size_t*, const char**, int*, int, const int64_t**, int*, void**,   \
      int*, size_t*, const char**, int*, int, void* (*)(void*, int), void*, void* (*)(void*, int), void*, \
      void*, void (*)(void*, int, int, int, void**, int64_t**, int64_t**), void*, int*, int*, void**,     \
      void**, void**, void**, int64_t*, int64_t*, int64_t*, int64_t*, void*, void*
#define SIDE(s)                                                                                       \
  s.shapes.data(), s.dims.data(), s.data.data(), s.types.data(), s.versions.data(), s.devices.data(), \
      s.device_ids.data(), static_cast<int>(s.dims.size())

std::vector<std::mt19937> generators(1024);

/// Calls a compute function; `state` is null for operators without.
int compute(const std::string& name, bool forward, void* state, const Texts& attributes,
            std::vector<Array>* inputs, std::vector<Array>* outputs, Memory* memory) {
  const Strings given(attributes);
  Side in(inputs, false), out(outputs, true);
  memory->outputs = outputs;
#define REST                                                                                          \
  SIDE(in), SIDE(out), give, memory, give, memory, nullptr, give_sparse, memory, in.storage.data(),   \
      out.storage.data(), in.indices.data(), out.indices.data(), in.indptr.data(), out.indptr.data(), \
      in.indices_len.data(), out.indices_len.data(), in.indptr_len.data(), out.indptr_len.data(),     \
      generators.data(), nullptr
  if (state != nullptr) {
    return symbol<int(int, void*, TENSORS)>("_opCallFStatefulCompute")(forward, state, REST);
  }
  const Operator& op = operators.at(name);
  return symbol<int(F, KV, TENSORS)>("_opCallFCompute")((forward ? op.forward : op.backward).at("cpu"),
                                                        GIVEN(given), REST);
}

template <class T>
std::string computed(const std::string& name, const Texts& attributes, std::vector<Array> inputs,
                     std::vector<Array> outputs, Memory memory = Memory(), bool forward = true) {
  return tried([&] {
    const int status = compute(name, forward, nullptr, attributes, &inputs, &outputs, &memory);
    std::string text = std::to_string(status);
    if (status) {
      for (const Array& output : outputs) text += " " + show(values<T>(output));
    }
    return text;
  });
}

void* create(const std::string& name, const Texts& attributes, Shapes shapes, std::vector<int> types,
             std::string* answer) {
  const Strings given(attributes);
  void* state = nullptr;
  *answer = tried([&] {
    std::vector<unsigned int*> in;
    std::vector<int> dims;
    for (auto& shape : shapes) {
      in.push_back(shape.data());
      dims.push_back(static_cast<int>(shape.size()));
    }
    const int status = symbol<int(F, KV, const char*, int, unsigned int**, int*, int, const int*, void**)>(
        "_opCallCreateOpState")(operators.at(name).create.at("cpu"), GIVEN(given), "cpu", 0, in.data(),
                                dims.data(), static_cast<int>(in.size()), types.data(), &state);
    std::string text = std::to_string(status);
    // MXNet reads these two bytes: ignore_warn and created.
    if (state)
      text += " " + show(std::vector<int>{static_cast<char*>(state)[8], static_cast<char*>(state)[9]});
    return text;
  });
  return state;
}

void destroy(void* state) { symbol<void(void*)>("_opCallDestroyOpState")(state); }

void call_operators() {
  say("initialize", tried([] { return std::to_string(symbol<int(int)>("initialize")(10901)); }));
  say("initialize old", tried([] { return std::to_string(symbol<int(int)>("initialize")(10700)); }));
  say("version", std::to_string(symbol<int()>("_opVersion")()));

  say("parse", parse("s_counter", {{"in", "3"}, {"out", "2"}, {"in", "4"}}));
  say("parse default", parse("s_counter", {}));
  say("shape", infer_shape("s_pair", {}, {{2, 3}, {}}, 2));
  say("shape negative dims", infer_shape("s_pair", {}, {{2, 3}, {}}, 2, -1));
  say("shape unknown dim", infer_shape("s_pair", {}, {{2, 4294967295u}, {}}, 2));
  say("shape all unknown", infer_shape("s_pair", {}, {{}, {}}, 2));
  say("shape none", infer_shape("s_attributes", {{"in", "0"}}, {}, 1));
  say("type", infer_codes("s_pair", "_opCallInferType", {}, {-1, 1}, 2));
  say("type unknown", infer_codes("s_pair", "_opCallInferType", {}, {-1, -1}, 2));
  say("storage", infer_codes("s_negate", "_opCallInferSType", {}, {2}, 1));
  say("storage dense", infer_codes("s_negate", "_opCallInferSType", {}, {0}, 1));
  say("mutate", mutated("s_accumulate", {}));
  say("mutate none", mutated("s_fail", {}));

  const Array info = array(6, std::vector<int64_t>(17));
  const auto dtype = [&](const Array& in) {
    std::vector<Array> inputs = {in}, outputs = {in, info};
    Memory memory;
    return tried([&] {
      const int status = compute("s_dtype", true, nullptr, {}, &inputs, &outputs, &memory);
      return std::to_string(status) + " " + show(values<int64_t>(outputs[1])) + " " +
             show(values<unsigned char>(outputs[0]));
    });
  };
  say("float32", dtype(array<float>(0, {1.5f, -2, 3}, {3, 1})));
  say("float64", dtype(array<double>(1, {1.5, -2, 3})));
  say("float16", dtype(array<uint16_t>(2, {15872, 49152})));
  say("uint8", dtype(array<uint8_t>(3, {1, 200})));
  say("int32", dtype(array<int32_t>(4, {1, -2000000})));
  say("int8", dtype(array<int8_t>(5, {1, -3})));
  say("int64", dtype(array<int64_t>(6, {1, -3000000000})));
  say("scalar", dtype(array<float>(0, {4}, {})));
  say("no elements", dtype(array<float>(0, {}, {0, 3})));
  say("bool", dtype(array<uint8_t>(7, {1})));
  say("bfloat16", dtype(array<uint16_t>(12, {1})));
  say("unset", dtype(array<uint8_t>(100, {1})));
  say("negative dtype", dtype(array<uint8_t>(-1, {1})));

  const Array a = floats({1, 2}), b = floats({10, 20}), zeros = floats({0, 0});
  say("pair", computed<float>("s_pair", {}, {a, b}, {zeros, zeros}));
  say("pair backward",
      computed<float>("s_pair", {}, {a, b, a, b, zeros, zeros}, {zeros, zeros}, Memory(), false));
  say("too few inputs", computed<float>("s_pair", {}, {}, {zeros, zeros}));
  say("attributes", computed<unsigned char>("s_attributes", {{"b", "(1, 2)"}, {"a", "\xc3\xa9"}}, {},
                                            {array(3, std::vector<uint8_t>(14))}));
  say("accumulate", computed<float>("s_accumulate", {}, {a, b}, {zeros}));

  Memory nothing, thread_ends;
  nothing.gives = false;
  say("resources", computed<float>("s_resources", {}, {floats({1, 2, 3})}, {floats({0, 0, 0})}));
  say("resources state",
      computed<float>("s_resources", {{"state", "0"}}, {floats({1, 2, 3})}, {floats({0, 0, 0})}));
  say("no bytes", computed<float>("s_resources", {{"bytes", "0"}}, {a}, {zeros}, nothing));

  Array csr = floats({5, 6}), rows = floats({1, 2, 3, 4});
  csr.shape = {2, 3}, csr.storage = 2, csr.indices = {2, 0}, csr.indptr = {0, 1, 2};
  rows.shape = {5, 2}, rows.storage = 1, rows.indices = {1, 4};
  const auto negate = [&](const Array& in, const Texts& attributes, Memory memory) {
    Array fresh = {in.shape, 0, {}, in.storage, {}, {}};
    std::vector<Array> inputs = {in}, outputs = {fresh};
    return tried([&] {
      const int status = compute("s_negate", true, nullptr, attributes, &inputs, &outputs, &memory);
      const Array& out = outputs[0];
      return std::to_string(status) + " " + show(values<float>(out)) + show(out.indices) + show(out.indptr);
    });
  };
  say("csr", negate(csr, {}, Memory()));
  say("row_sparse", negate(rows, {}, Memory()));
  say("sparse without memory", negate(Array{{2, 3}, 0, {}, 2, {}, {}}, {{"index", "1"}}, nothing));

  for (const char* how : {"", "message", "throw", "throw number", "at"}) {
    const std::string h = how;
    say("fail parse " + h, parse("s_fail", {{"where", "parse"}, {"how", h}}));
    say("fail shape " + h, infer_shape("s_fail", {{"where", "shape"}, {"how", h}}, {{1}}, 1));
    say("fail type " + h, infer_codes("s_fail", "_opCallInferType", {{"where", "type"}, {"how", h}}, {0}, 1));
    say("fail storage " + h,
        infer_codes("s_fail", "_opCallInferSType", {{"where", "storage"}, {"how", h}}, {0}, 1));
    say("fail mutate " + h, mutated("s_fail", {{"where", "mutate"}, {"how", h}}));
    say("fail forward " + h, computed<float>("s_fail", {{"where", "forward"}, {"how", h}}, {a}, {zeros}));
    for (const char* where : {"create", "constructor", "forward"}) {
      std::string answer;
      void* state = create("s_fail_state", {{"where", where}, {"how", h}}, {{1}}, {0}, &answer);
      say(std::string("fail state ") + where + " " + h, answer);
      if (state == nullptr) continue;
      std::vector<Array> inputs = {a}, outputs = {zeros};
      Memory memory;
      say("fail state compute " + h,
          tried([&] { return std::to_string(compute("", true, state, {}, &inputs, &outputs, &memory)); }));
      say("no backward " + h,
          tried([&] { return std::to_string(compute("", false, state, {}, &inputs, &outputs, &memory)); }));
      destroy(state);
    }
  }

  std::string answer;
  void* counter = create("s_counter", {{"start", "5"}}, {{2}}, {0}, &answer);
  say("counter", answer);
  std::vector<Array> inputs = {a}, outputs = {zeros};
  Memory memory;
  for (const char* forward : {"1", "1", "0"}) {
    say(std::string("counter call ") + forward, tried([&] {
          const int status = compute("", *forward == '1', counter, {}, &inputs, &outputs, &memory);
          return std::to_string(status) + " " + show(values<float>(outputs[0]));
        }));
  }
  void* living = create("s_living", {}, {{2}}, {0}, &answer);
  say("living", answer);
  void* quiet = create("s_living", {{"quiet", "True"}}, {{2}}, {0}, &answer);
  say("living quiet", answer);
  const auto count = [&](const char* name) {
    say(name, tried([&] {
          return std::to_string(compute("", true, living, {}, &inputs, &outputs, &memory)) + " " +
                 show(values<float>(outputs[0]));
        }));
  };
  count("one lives");
  destroy(counter);
  count("none lives");
  destroy(living);
  destroy(quiet);
  void* refused = create("s_counter", {}, {{}}, {1}, &answer);
  say("counter refused", answer + (refused ? " state" : ""));
}

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

void call_graphs() {
  say("supported", supported({}));
  say("supported groups", supported({{"group", "True"}}));
  for (const char* how : {"supported", "count", "status"})
    say(std::string("supported ") + how, supported({{"fail", how}}));
  say("select", select({}));
  say("select single", select({{"single", "True"}}));
  for (const char* how : {"create", "select", "input", "output", "filter", "reset"}) {
    say(std::string("select ") + how, select({{"fail", how}}));
  }
  say("review", reviewed(0, {}));
  say("review rejected", reviewed(3, {{"reject", "3"}}));
  say("review throws", reviewed(0, {{"fail", "review"}}));

  std::string answer;
  void* runner = create("_s_run", {{"subgraph_sym_json", SUBGRAPH}}, {{2}, {2}}, {0, 0}, &answer);
  say("subgraph", answer);
  std::vector<Array> inputs = {floats({1, 2}), floats({10, 20}), floats({0, 0})}, outputs = {floats({0, 0})};
  Memory memory;
  say("subgraph forward", tried([&] {
        return std::to_string(compute("", true, runner, {}, &inputs, &outputs, &memory)) +
               show(values<float>(outputs[0]));
      }));
  destroy(runner);
  create("_s_run", {}, {{2}}, {0}, &answer);
  say("no subgraph", answer);

  say("pass same", pass("s_same", GRAPH, {}));
  say("pass scale", pass("s_scale_head", GRAPH, {{"scale", "2.5"}}));
  say("pass describe", pass("s_describe", GRAPH, {}));
  say("pass json", pass("s_make_json", GRAPH, {}));
  for (const char* how : {"throw", "message", "status", "many nodes"}) {
    say(std::string("pass wrong ") + how, pass("s_go_wrong", GRAPH, {{"how", how}}));
  }
  for (const char* text :
       {"{}", "[]", "5", " [1 , {\"b\":2,\"a\":[]}, \"x\"] ", "\"caf\xc3\xa9\"", "{\"a\":{\"b\":{}}}"}) {
    say(std::string("json ") + text, pass("s_read_json", "{}", {{"text", text}}));
  }
}

/// What MXNet's header reads wrongly, or dies of.
void call_adversary() {
  Memory nothing;
  nothing.gives = false;
  const Array a = floats({1, 2}), zeros = floats({0, 0});
  say("no memory", computed<float>("s_resources", {}, {a}, {zeros}, nothing));
  for (const char* how : {"cycle", "no node", "outside", "dtype", "attribute", "one side"}) {
    say(std::string("pass wrong ") + how, pass("s_go_wrong", GRAPH, {{"how", how}}));
  }
  say("pass no memory", pass("s_go_wrong", GRAPH, {{"how", "memory"}}, false));
  say("negative bytes", computed<float>("s_resources", {{"bytes", "-8"}}, {a}, {zeros}));
  for (const char* json :
       {"", "x", "[]", "{\"nodes\":[1]}", "{\"nodes\":7}",
        "{\"nodes\":[{\"op\":\"exp\",\"name\":\"e\",\"inputs\":[[0,0,0]]}]}",
        "{\"nodes\":[{\"op\":\"exp\",\"name\":\"e\",\"inputs\":[[-1,0]]}]}",
        "{\"nodes\":[{\"op\":\"exp\",\"name\":\"e\",\"inputs\":[5]}]}",
        "{\"nodes\":[{\"op\":\"null\",\"name\":\"e\",\"inputs\":[]}],\"heads\":[[9,0]]}",
        "{\"nodes\":[{\"op\":5}]}", "{\"nodes\":[{\"op\":\"null\",\"name\":\"a\",\"attrs\":[]}]}"}) {
    say(std::string("graph ") + json, pass("s_same", json, {}));
  }
  say("graph escapes",
      pass(
          "s_same",
          R"({"nodes":[{"op":"null","name":"q\"\\\n\u00e9\ud83d\ude00\u0001/","attrs":{"n":-1.5e3,"t":true,"z":null},"inputs":[]}],"heads":[[0,0,0]],"deep":[-1,2.50,true,false,null]})",
          {}));
  for (const char* text : {"-5",
                           "1.50",
                           "1e3",
                           "-0",
                           "99999999999",
                           "true",
                           "false",
                           "null",
                           "[true,null]",
                           "\"a\\\"b\\\\\"",
                           "\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
                           "",
                           "[1,",
                           "{\"a\"",
                           "[1 2]",
                           "[,]",
                           "{1:2}",
                           "\"open",
                           "\"\\q\"",
                           "\"\\u12\"",
                           "\"\\ud83d\"",
                           "\"\\ud83dx\"",
                           "01",
                           "1.",
                           "-",
                           "5 6",
                           "tru",
                           "[1]]"}) {
    say(std::string("json ") + text, pass("s_read_json", "{}", {{"text", text}}));
  }
  say("json deep", pass("s_read_json", "{}", {{"text", std::string(100000, '[')}}));
  say("json deep maps", pass("s_read_json", "{}", {{"text", [] {
                                                      std::string s;
                                                      for (int i = 0; i < 100000; ++i) s += "{\"a\":";
                                                      return s;
                                                    }()}}));
  say("graph deep", pass("s_same",
                         [] {
                           std::string s;
                           for (int i = 0; i < 10000; ++i)
                             s += R"({"nodes":[{"op":"x","name":"n","inputs":[],"subgraphs":[)";
                           return s;
                         }(),
                         {}));
  say("index", tried([] {
        try {
          const Operator op = registered(999);
          return op.name + "?";
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
      }));
  // A host may end a thread inside a callback, as Python does with its daemon threads: that passes through.
  std::string reached = "ended";
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* result) -> void* {
        Memory memory;
        memory.ends_thread = true;
        std::vector<Array> inputs = {floats({1, 2})}, outputs = {floats({0, 0})};
        compute("s_resources", true, nullptr, {}, &inputs, &outputs, &memory);
        *static_cast<std::string*>(result) = "returned";
        return nullptr;
      },
      &reached);
  pthread_join(thread, nullptr);
  say("thread", reached);
}

/// Messages of several threads: none is lost or mixed with another, and old ones are let go.
void call_threads() {
  const int before = symbol<int()>("_msgSize")(), each = 1500;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(std::thread([] {
      for (int i = 0; i < each; ++i) {
        parse("s_fail", {{"where", "parse"}, {"how", "message"}});
      }
    }));
  }
  for (std::thread& thread : threads) thread.join();
  const int after = symbol<int()>("_msgSize")();
  int whole = 0;
  for (int i = after - 500; i < after; ++i) {
    const char* text = nullptr;
    symbol<void(int, const char**)>("_msgGet")(i, &text);
    whole += strstr(text, "]: refused in parse") != nullptr;
  }
  const char *first = nullptr, *none = nullptr;
  symbol<void(int, const char**)>("_msgGet")(0, &first);
  symbol<void(int, const char**)>("_msgGet")(after, &none);
  say("threads", std::to_string(after - before) + " " + std::to_string(whole) + " " + first + " " + none);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: %s LIBRARY [adversary]\n", argv[0]), 2;
  library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return fprintf(stderr, "%s\n", dlerror()), 2;
  list_registered();
  call_operators();
  call_graphs();
  if (argc > 2 && std::string(argv[2]) == "adversary") {
    call_adversary();
    call_threads();
  }
  return 0;
}
