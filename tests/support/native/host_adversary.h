// What libraries of minpy's header have to withstand.
#ifndef HOST_ADVERSARY_H_
#define HOST_ADVERSARY_H_

#include "host_graphs.h"

namespace {

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

#endif  // HOST_ADVERSARY_H_
