/// What a running operator or pass may ask its host for.
#ifndef MINPY_RESOURCES_H_
#define MINPY_RESOURCES_H_

#include "platform.h"
#include "tensor.h"

/// How many random states the host keeps for an operator, one for each of so many threads.
#define MX_NUM_CPU_RANDOM_STATES 1024
#define MX_NUM_GPU_RANDOM_STATES 32768

namespace mxnet {
namespace ext {
inline namespace abi11 {

typedef void* (*xpu_malloc_t)(void* handle, int bytes);
typedef void (*sparse_malloc_t)(void* handle, int index, int indices_len, int indptr_len, void** data,
                                int64_t** indices, int64_t** indptr);
typedef void (*nd_malloc_t)(const void* handle, const int64_t* shape, int ndim, const char* dev_type,
                            int dev_id, int dtype, const char* name, int is_arg, void** data);

typedef std::mt19937 mx_cpu_rand_t;
#if defined(__NVCC__)
typedef cudaStream_t mx_stream_t;
typedef curandStatePhilox4_32_10_t mx_gpu_rand_t;
#else
typedef void* mx_stream_t;
typedef void* mx_gpu_rand_t;
#endif

/// What an operator may use during one call. Memory it gives is good until the call returns.
class OpResource {
 public:
  OpResource(xpu_malloc_t cpu_malloc, void* cpu_handle, xpu_malloc_t gpu_malloc, void* gpu_handle,
             void* cuda_stream, sparse_malloc_t sparse_malloc, void* sparse_handle, void* rng_cpu_states,
             void* rng_gpu_states, int num_outputs = -1)
      : cpu_malloc_(cpu_malloc),
        gpu_malloc_(gpu_malloc),
        cpu_handle_(cpu_handle),
        gpu_handle_(gpu_handle),
        cuda_stream_(cuda_stream),
        sparse_malloc_(sparse_malloc),
        sparse_handle_(sparse_handle),
        rng_cpu_states_(rng_cpu_states),
        rng_gpu_states_(rng_gpu_states),
        num_outputs_(num_outputs) {}

  /// Temporary memory. Ask once for all that a call needs: MXNet gives the same memory, or frees the first,
  /// when asked again.
  void* alloc_cpu(int64_t bytes) const { return allocate("alloc_cpu", cpu_malloc_, cpu_handle_, bytes); }
  void* alloc_gpu(int64_t bytes) const { return allocate("alloc_gpu", gpu_malloc_, gpu_handle_, bytes); }

  mx_stream_t get_cuda_stream() const { return static_cast<mx_stream_t>(cuda_stream_); }

  /// Memory for sparse output number `index`; without `indptr_len` it is row_sparse. Sets the pointers of
  /// `sparse`, not its lengths.
  void alloc_sparse(MXSparse* sparse, int index, int indices_len, int indptr_len = 0) const {
    const bool exists = index >= 0 && (num_outputs_ < 0 || index < num_outputs_);
    const bool asked =
        exists && sparse != nullptr && sparse_malloc_ != nullptr && indices_len >= 0 && indptr_len >= 0;
    if (asked) {
      sparse_malloc_(sparse_handle_, index, indices_len, indptr_len, &sparse->data, &sparse->indices,
                     &sparse->indptr);
      if (indices_len == 0 || sparse->data != nullptr) return;
    }
    std::ostringstream message;
    message << "alloc_sparse(output " << index << " of " << num_outputs_ << ", " << indices_len
            << " indices, " << indptr_len << " row starts) got no memory";
    throw std::runtime_error(message.str());
  }

  /// MX_NUM_CPU_RANDOM_STATES generators, seeded by the host, that go on from call to call.
  mx_cpu_rand_t* get_cpu_rand_states() const { return static_cast<mx_cpu_rand_t*>(rng_cpu_states_); }
  mx_gpu_rand_t* get_gpu_rand_states() const { return static_cast<mx_gpu_rand_t*>(rng_gpu_states_); }

 private:
  static void* allocate(const char* function, xpu_malloc_t malloc_, void* handle, int64_t bytes) {
    const bool fits = bytes >= 0 && bytes <= 2147483647;
    void* memory = fits && malloc_ != nullptr ? malloc_(handle, static_cast<int>(bytes)) : nullptr;
    if (memory == nullptr && bytes != 0) {
      throw std::runtime_error(std::string(function) + "(" + std::to_string(bytes) + ") got no memory" +
                               (!fits ? ": the number of bytes does not fit an int" : ""));
    }
    return memory;
  }

  xpu_malloc_t cpu_malloc_, gpu_malloc_;
  void *cpu_handle_, *gpu_handle_;
  void* cuda_stream_;
  sparse_malloc_t sparse_malloc_;
  void* sparse_handle_;
  void *rng_cpu_states_, *rng_gpu_states_;
  int num_outputs_;  // -1: not known
};

/// What makes new parameters during a graph pass.
class PassResource {
 public:
  PassResource(std::unordered_map<std::string, MXTensor>* new_args,
               std::unordered_map<std::string, MXTensor>* new_aux, nd_malloc_t nd_malloc,
               const void* nd_handle)
      : new_args_(new_args), new_aux_(new_aux), nd_malloc_(nd_malloc), nd_handle_(nd_handle) {}

  /// A new argument (auxiliary state) of the graph under this name, uninitialised.
  MXTensor* alloc_arg(const std::string& name, const std::vector<int64_t>& shape, const MXContext& ctx,
                      MXDType dtype) const {
    return allocate(new_args_, name, shape, ctx, dtype, true);
  }
  MXTensor* alloc_aux(const std::string& name, const std::vector<int64_t>& shape, const MXContext& ctx,
                      MXDType dtype) const {
    return allocate(new_aux_, name, shape, ctx, dtype, false);
  }

 private:
  MXTensor* allocate(std::unordered_map<std::string, MXTensor>* made, const std::string& name,
                     const std::vector<int64_t>& shape, const MXContext& ctx, MXDType dtype,
                     bool is_argument) const {
    void* data = nullptr;
    MXTensor tensor(data, shape, dtype, 0, ctx);
    if (nd_malloc_ != nullptr) {
      nd_malloc_(nd_handle_, shape.data(), static_cast<int>(shape.size()), ctx.dev_type.c_str(), ctx.dev_id,
                 dtype, name.c_str(), is_argument, &data);
    }
    if (data == nullptr && tensor.size() != 0) {
      throw std::runtime_error((is_argument ? "alloc_arg(\"" : "alloc_aux(\"") + name +
                               "\") got no memory for " + std::to_string(tensor.size()) + " elements");
    }
    tensor.data_ptr = data;
    tensor.setDLTensor();
    return &((*made)[name] = tensor);
  }

  std::unordered_map<std::string, MXTensor>* new_args_;
  std::unordered_map<std::string, MXTensor>* new_aux_;
  nd_malloc_t nd_malloc_;
  const void* nd_handle_;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_RESOURCES_H_
