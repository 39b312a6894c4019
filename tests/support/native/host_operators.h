// The library of surface_host.cc, and every call that there is of its operators.
#ifndef HOST_OPERATORS_H_
#define HOST_OPERATORS_H_

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
#include <mutex>
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
  static std::mutex mutex;
  static int seen = 0;
  const std::lock_guard<std::mutex> lock(mutex);
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

}  // namespace

#endif  // HOST_OPERATORS_H_
