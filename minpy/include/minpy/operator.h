/// Operators: their functions, their states, and how they are registered.
#ifndef MINPY_OPERATOR_H_
#define MINPY_OPERATOR_H_

#include <list>

#include "messages.h"
#include "platform.h"
#include "registry.h"
#include "resources.h"
#include "tensor.h"

/// Registers an operator: `REGISTER_OP(my_op).setForward(forward, "cpu").setParseAttrs(...)...;`
#define REGISTER_OP(Name) MINPY_REGISTER(CustomOp, Name)

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// An operator with a state, which lives for one call, or for as long as a graph is bound.
class CustomStatefulOp {
 public:
  CustomStatefulOp() : ignore_warn(false), created(false) {}
  virtual ~CustomStatefulOp() {}

  /// A new state, for createOpState to return. The arguments are copied into it.
  template <class A, class... Ts>
  static CustomStatefulOp* create(Ts... args) {
    CustomStatefulOp* state = make<A>(std::is_constructible<A, Ts&...>(), args...);
    state->created = true;
    return state;
  }

  bool wasCreated() { return created; }

  virtual MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                                const OpResource& op_res) = 0;

  /// Gradients of the inputs (`outputs`) from those of the outputs, the inputs and the outputs (`inputs`).
  virtual MXReturnValue Backward(std::vector<MXTensor>*, std::vector<MXTensor>*, const OpResource&) {
    MX_ERROR_MSG << "Error! Operator does not support backward";
    return MX_FAIL;
  }

  // MXNet reads these two bytes behind the pointer to the virtual functions: they stay first, in this order.
  bool ignore_warn;  ///< say nothing about a state that create() did not make

 private:
  template <class A, class... Ts>
  static A* make(std::true_type, Ts&... args) {
    return new A(args...);
  }
  template <class A, class... Ts>
  static A* make(std::false_type, Ts&... args) {
    return new A(std::move(args)...);
  }

  bool created;
};

typedef MXReturnValue (*fcomp_t)(const std::unordered_map<std::string, std::string>& attributes,
                                 std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                                 const OpResource& op_res);
typedef MXReturnValue (*parseAttrs_t)(const std::unordered_map<std::string, std::string>& attributes,
                                      int* num_inputs, int* num_outputs);
typedef MXReturnValue (*inferType_t)(const std::unordered_map<std::string, std::string>& attributes,
                                     std::vector<int>* in_types, std::vector<int>* out_types);
typedef MXReturnValue (*inferSType_t)(const std::unordered_map<std::string, std::string>& attributes,
                                      std::vector<int>* in_storage_types,
                                      std::vector<int>* out_storage_types);
typedef MXReturnValue (*inferShape_t)(const std::unordered_map<std::string, std::string>& attributes,
                                      std::vector<std::vector<unsigned int>>* in_shapes,
                                      std::vector<std::vector<unsigned int>>* out_shapes);
typedef MXReturnValue (*mutateInputs_t)(const std::unordered_map<std::string, std::string>& attributes,
                                        std::vector<int>* input_indices);
typedef MXReturnValue (*createOpState_t)(const std::unordered_map<std::string, std::string>& attributes,
                                         const MXContext& ctx,
                                         const std::vector<std::vector<unsigned int>>& in_shapes,
                                         const std::vector<int> in_types, CustomStatefulOp** state);

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

namespace minpy PRIVATE_SYMBOL {

/// Functions by device, as the parallel arrays that hosts read.
template <class Function>
class FunctionsByDevice {
 public:
  /// False if there is none to add, or the device has one already.
  bool add(Function function, const char* device) {
    if (function == nullptr || device == nullptr) return false;
    for (const std::string& known : names_) {
      if (known == device) return false;
    }
    names_.push_back(device);
    devices_.push_back(names_.back().c_str());
    functions_.push_back(function);
    return true;
  }

  void give(const char*** devices, Function** functions, int* count) {
    *devices = devices_.data();
    *functions = functions_.data();
    *count = static_cast<int>(functions_.size());
  }

 private:
  std::list<std::string> names_;  // a list: what devices_ points at stays where it is
  std::vector<const char*> devices_;
  std::vector<Function> functions_;
};

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// A registered operator. An operator needs functions for its attributes, types and shapes, and either
/// `setForward` or `setCreateOpState`; one that runs a subgraph needs the last only.
class PRIVATE_SYMBOL CustomOp {
 public:
  explicit CustomOp(const char* op_name) : name(op_name) {}

  CustomOp& setForward(fcomp_t function, const char* ctx) {
    return checked("setForward", ctx, forward.add(function, ctx));
  }
  CustomOp& setBackward(fcomp_t function, const char* ctx) {
    return checked("setBackward", ctx, backward.add(function, ctx));
  }
  CustomOp& setCreateOpState(createOpState_t function, const char* ctx) {
    return checked("setCreateOpState", ctx, create_op_state.add(function, ctx));
  }
  CustomOp& setParseAttrs(parseAttrs_t function) {
    parse_attrs = function;
    return *this;
  }
  CustomOp& setInferType(inferType_t function) {
    infer_type = function;
    return *this;
  }
  CustomOp& setInferSType(inferSType_t function) {
    infer_storage_type = function;
    return *this;
  }
  CustomOp& setInferShape(inferShape_t function) {
    infer_shape = function;
    return *this;
  }
  CustomOp& setMutateInputs(mutateInputs_t function) {
    mutate_inputs = function;
    return *this;
  }
  CustomOp& setIsSubgraphOp() {
    is_subgraph_op = true;
    return *this;
  }

  const std::string name;
  bool usable = true;  ///< false once a setter was called wrongly
  bool is_subgraph_op = false;
  minpy::FunctionsByDevice<fcomp_t> forward;
  minpy::FunctionsByDevice<fcomp_t> backward;
  minpy::FunctionsByDevice<createOpState_t> create_op_state;
  parseAttrs_t parse_attrs = nullptr;
  inferType_t infer_type = nullptr;
  inferSType_t infer_storage_type = nullptr;
  inferShape_t infer_shape = nullptr;
  mutateInputs_t mutate_inputs = nullptr;

 private:
  CustomOp& checked(const char* setter, const char* device, bool added) {
    if (!added) {
      usable = false;
      minpy::report_registration("operator '" + name + "': " + setter + " for context '" +
                                 (device != nullptr ? device : "(null)") +
                                 "' was given no function, or a second one");
    }
    return *this;
  }
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_OPERATOR_H_
