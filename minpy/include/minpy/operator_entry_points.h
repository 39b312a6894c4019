/// The C functions through which a host finds and calls operators.
#ifndef MINPY_OPERATOR_ENTRY_POINTS_H_
#define MINPY_OPERATOR_ENTRY_POINTS_H_

#include <algorithm>

#include "boundary.h"
#include "operator.h"

/// Written by the user, without which no library loads: MX_SUCCESS if it can work with this version of
/// MXNet, which is 10000 * major + 100 * minor + patch. It may throw as all functions of the user's may: to
/// linkers it has another name, and what hosts find as `initialize` is the function that calls it, below.
extern "C" __attribute__((weak)) PRIVATE_SYMBOL mxnet::ext::MXReturnValue initialize(int version)
    MINPY_LINKED_AS("minpy_initialize");

/// The arrays of inputs and outputs, and the resources, as compute functions are given them.
#define MINPY_COMPUTE_PARAMETERS                                                                           \
  const int64_t **in_shapes, int *in_dims, void **in_data, int *in_types, size_t *in_version_ids,          \
      const char **in_dev_types, int *in_dev_ids, int num_in, const int64_t **out_shapes, int *out_dims,   \
      void **out_data, int *out_types, size_t *out_version_ids, const char **out_dev_types,                \
      int *out_dev_ids, int num_out, mxnet::ext::xpu_malloc_t cpu_malloc, void *cpu_handle,                \
      mxnet::ext::xpu_malloc_t gpu_malloc, void *gpu_handle, void *cuda_stream,                            \
      mxnet::ext::sparse_malloc_t sparse_malloc, void *sparse_handle, int *in_stypes, int *out_stypes,     \
      void **in_indices, void **out_indices, void **in_indptr, void **out_indptr, int64_t *in_indices_len, \
      int64_t *out_indices_len, int64_t *in_indptr_len, int64_t *out_indptr_len, void *rng_cpu_states,     \
      void *rng_gpu_states

namespace minpy PRIVATE_SYMBOL {

/// The arguments of one compute call as the objects that users' functions take.
struct ComputeCall {
  explicit ComputeCall(MINPY_COMPUTE_PARAMETERS)
      : resources(cpu_malloc, cpu_handle, gpu_malloc, gpu_handle, cuda_stream, sparse_malloc, sparse_handle,
                  rng_cpu_states, rng_gpu_states, num_out) {
    inputs = tensors({in_shapes, in_dims, in_data, in_types, in_version_ids, in_dev_types, in_dev_ids, num_in,
                      in_stypes, in_indices, in_indptr, in_indices_len, in_indptr_len},
                     &sparse_inputs);
    outputs = tensors({out_shapes, out_dims, out_data, out_types, out_version_ids, out_dev_types, out_dev_ids,
                       num_out, out_stypes, out_indices, out_indptr, out_indices_len, out_indptr_len},
                      &sparse_outputs);
    for (const mxnet::ext::MXTensor& output : outputs) results.push_back(output.data_ptr);
  }

  /// What the user's function reports, unless its results are not where the host will look for them.
  mxnet::ext::MXReturnValue checked(mxnet::ext::MXReturnValue result) const {
    if (result != mxnet::ext::MX_SUCCESS) return result;
    require_count("outputs", outputs.size(), static_cast<int>(results.size()));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (outputs[i].data_ptr != results[i]) {
        throw std::runtime_error("the function gave output " + std::to_string(i) +
                                 " other memory; results are written to that of data<T>()");
      }
    }
    return result;
  }

  std::vector<mxnet::ext::MXSparse> sparse_inputs, sparse_outputs;
  std::vector<mxnet::ext::MXTensor> inputs, outputs;
  std::vector<void*> results;  ///< where the memory of the outputs is
  mxnet::ext::OpResource resources;
};

#define MINPY_COMPUTE_ARGUMENTS                                                                             \
  in_shapes, in_dims, in_data, in_types, in_version_ids, in_dev_types, in_dev_ids, num_in, out_shapes,      \
      out_dims, out_data, out_types, out_version_ids, out_dev_types, out_dev_ids, num_out, cpu_malloc,      \
      cpu_handle, gpu_malloc, gpu_handle, cuda_stream, sparse_malloc, sparse_handle, in_stypes, out_stypes, \
      in_indices, out_indices, in_indptr, out_indptr, in_indices_len, out_indices_len, in_indptr_len,       \
      out_indptr_len, rng_cpu_states, rng_gpu_states

/// Inferred shapes, for the host.
class HostShapes {
 public:
  explicit HostShapes(const std::vector<std::vector<unsigned int>>& shapes)
      : shapes_(shapes.size()), dims_(shapes.size()) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      shapes_.push_back(host_array(shapes[i]));
      dims_[i] = static_cast<int>(shapes[i].size());
    }
  }

  void release(unsigned int*** shapes, int** dims) {
    *shapes = shapes_.release();
    *dims = dims_.release();
  }

 private:
  HostArrays<unsigned int> shapes_;
  HostArray<int> dims_;
};

/// What both type inferences do: outputs begin unknown (-1), inputs may be filled in.
template <class Function>
inline int infer_codes(const char* what, Function function, const char* const* keys,
                       const char* const* values, int num, int* in, int num_in, int* out, int num_out) {
  return status(what, [&] {
    std::vector<int> in_codes(in, in + num_in);
    std::vector<int> out_codes(static_cast<std::size_t>(num_out), -1);
    const mxnet::ext::MXReturnValue result = function(string_map(keys, values, num), &in_codes, &out_codes);
    if (result != mxnet::ext::MX_SUCCESS) return result;
    require_count("inputs", in_codes.size(), num_in);
    require_count("outputs", out_codes.size(), num_out);
    std::copy(in_codes.begin(), in_codes.end(), in);
    std::copy(out_codes.begin(), out_codes.end(), out);
    return result;
  });
}

}  // namespace minpy

MINPY_ENTRY_POINT int _opVersion(void) { return MX_LIBRARY_VERSION; }

MINPY_ENTRY_POINT int minpy_call_initialize(int version) MINPY_LINKED_AS("initialize");
int minpy_call_initialize(int version) {
  return minpy::status("initialize", [&] {
    minpy::require(&initialize != nullptr, "the library defines no MXReturnValue initialize(int)");
    return initialize(version);
  });
}

MINPY_ENTRY_POINT int _msgSize(void) {
  int size = 0;
  minpy::completes("_msgSize", [&] { size = mxnet::ext::MXerrorMsgs::get()->size(); });
  return size;
}

MINPY_ENTRY_POINT void _msgGet(int index, const char** message) {
  *message = "";
  minpy::completes("_msgGet", [&] { *message = mxnet::ext::MXerrorMsgs::get()->get(index)->c_str(); });
}

MINPY_ENTRY_POINT int _opRegSize(void) { return mxnet::ext::Registry<mxnet::ext::CustomOp>::get()->size(); }

MINPY_ENTRY_POINT void _opRegGet(int index, const char** name, int* is_subgraph_op, const char*** forward_ctx,
                                 mxnet::ext::fcomp_t** forward_fp, int* forward_count,
                                 const char*** backward_ctx, mxnet::ext::fcomp_t** backward_fp,
                                 int* backward_count, const char*** create_op_ctx,
                                 mxnet::ext::createOpState_t** create_op_fp, int* create_op_count,
                                 mxnet::ext::parseAttrs_t* parse, mxnet::ext::inferType_t* type,
                                 mxnet::ext::inferSType_t* stype, mxnet::ext::inferShape_t* shape,
                                 mxnet::ext::mutateInputs_t* mutate) {
  *name = "";
  *is_subgraph_op = *forward_count = *backward_count = *create_op_count = 0;
  minpy::completes("_opRegGet", [&] {
    mxnet::ext::CustomOp& op = mxnet::ext::Registry<mxnet::ext::CustomOp>::get()->get(index);
    mxnet::ext::CustomOp nothing("");
    mxnet::ext::CustomOp& given = op.usable ? op : nothing;
    *name = op.name.c_str();
    *is_subgraph_op = given.is_subgraph_op;
    given.forward.give(forward_ctx, forward_fp, forward_count);
    given.backward.give(backward_ctx, backward_fp, backward_count);
    given.create_op_state.give(create_op_ctx, create_op_fp, create_op_count);
    *parse = given.parse_attrs;
    *type = given.infer_type;
    *stype = given.infer_storage_type;
    *shape = given.infer_shape;
    *mutate = given.mutate_inputs;
  });
}

MINPY_ENTRY_POINT void _opCallFree(void* memory) { free(memory); }

MINPY_ENTRY_POINT int _opCallParseAttrs(mxnet::ext::parseAttrs_t parse, const char* const* keys,
                                        const char* const* values, int num, int* num_in, int* num_out) {
  return minpy::status("ParseAttrs",
                       [&] { return parse(minpy::string_map(keys, values, num), num_in, num_out); });
}

MINPY_ENTRY_POINT int _opCallInferShape(mxnet::ext::inferShape_t infer, const char* const* keys,
                                        const char* const* values, int num, unsigned int** in_shapes,
                                        int* in_dims, int num_in, unsigned int*** mod_in_shapes,
                                        int** mod_in_dims, unsigned int*** out_shapes, int** out_dims,
                                        int num_out) {
  return minpy::status("InferShape", [&] {
    std::vector<std::vector<unsigned int>> in = minpy::shape_vectors(in_shapes, in_dims, num_in);
    std::vector<std::vector<unsigned int>> out(static_cast<std::size_t>(num_out));
    const mxnet::ext::MXReturnValue result = infer(minpy::string_map(keys, values, num), &in, &out);
    if (result != mxnet::ext::MX_SUCCESS) return result;
    minpy::require_count("inputs", in.size(), num_in);
    minpy::require_count("outputs", out.size(), num_out);
    minpy::HostShapes in_arrays(in), out_arrays(out);
    in_arrays.release(mod_in_shapes, mod_in_dims);
    out_arrays.release(out_shapes, out_dims);
    return result;
  });
}

MINPY_ENTRY_POINT int _opCallInferType(mxnet::ext::inferType_t infer, const char* const* keys,
                                       const char* const* values, int num, int* in_types, int num_in,
                                       int* out_types, int num_out) {
  return minpy::infer_codes("InferType", infer, keys, values, num, in_types, num_in, out_types, num_out);
}

MINPY_ENTRY_POINT int _opCallInferSType(mxnet::ext::inferSType_t infer, const char* const* keys,
                                        const char* const* values, int num, int* in_stypes, int num_in,
                                        int* out_stypes, int num_out) {
  return minpy::infer_codes("InferSType", infer, keys, values, num, in_stypes, num_in, out_stypes, num_out);
}

MINPY_ENTRY_POINT int _opCallMutateInputs(mxnet::ext::mutateInputs_t mutate, const char* const* keys,
                                          const char* const* values, int num, int** indices, int* count) {
  return minpy::status("MutateInputs", [&] {
    std::vector<int> positions;
    const mxnet::ext::MXReturnValue result = mutate(minpy::string_map(keys, values, num), &positions);
    if (result != mxnet::ext::MX_SUCCESS) return result;
    *indices = minpy::host_array(positions).release();
    *count = static_cast<int>(positions.size());
    return result;
  });
}

MINPY_ENTRY_POINT int _opCallFCompute(mxnet::ext::fcomp_t compute, const char* const* keys,
                                      const char* const* values, int num, MINPY_COMPUTE_PARAMETERS) {
  return minpy::status("FCompute", [&] {
    minpy::ComputeCall call(MINPY_COMPUTE_ARGUMENTS);
    return call.checked(
        compute(minpy::string_map(keys, values, num), &call.inputs, &call.outputs, call.resources));
  });
}

MINPY_ENTRY_POINT int _opCallCreateOpState(mxnet::ext::createOpState_t create, const char* const* keys,
                                           const char* const* values, int num, const char* dev_type,
                                           int dev_id, unsigned int** in_shapes, int* in_dims, int num_in,
                                           const int* in_types, void** state) {
  return minpy::status("CreateOpState", [&] {
    mxnet::ext::CustomStatefulOp* created = nullptr;
    const mxnet::ext::MXReturnValue result =
        create(minpy::string_map(keys, values, num), mxnet::ext::MXContext(minpy::text(dev_type), dev_id),
               minpy::shape_vectors(in_shapes, in_dims, num_in),
               std::vector<int>(in_types, in_types + num_in), &created);
    if (result != mxnet::ext::MX_SUCCESS) return result;
    minpy::require(created != nullptr, "createOpState reported success without a state");
    *state = created;
    return result;
  });
}

MINPY_ENTRY_POINT void _opCallDestroyOpState(void* state) {
  minpy::completes("DestroyOpState", [&] { delete static_cast<mxnet::ext::CustomStatefulOp*>(state); });
}

MINPY_ENTRY_POINT int _opCallFStatefulCompute(int is_forward, void* state, MINPY_COMPUTE_PARAMETERS) {
  return minpy::status("FStatefulCompute", [&] {
    minpy::ComputeCall call(MINPY_COMPUTE_ARGUMENTS);
    mxnet::ext::CustomStatefulOp* op = static_cast<mxnet::ext::CustomStatefulOp*>(state);
    return call.checked(is_forward != 0 ? op->Forward(&call.inputs, &call.outputs, call.resources)
                                        : op->Backward(&call.inputs, &call.outputs, call.resources));
  });
}

#undef MINPY_COMPUTE_PARAMETERS
#undef MINPY_COMPUTE_ARGUMENTS

#endif  // MINPY_OPERATOR_ENTRY_POINTS_H_
