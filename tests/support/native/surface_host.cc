// A host in C++ that knows nothing of the header: loads the library named by its argument, calls every
// function of it, and writes what comes back, one answer a line: its name, a tab, the answer.
#include "host_adversary.h"
#include "host_graphs.h"
#include "host_operators.h"

namespace {

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
