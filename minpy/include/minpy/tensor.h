/// Tensors as operators see them: memory of the host with a shape, an element type and a device.
#ifndef MINPY_TENSOR_H_
#define MINPY_TENSOR_H_

#include <type_traits>

#include "dlpack.h"
#include "platform.h"

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// What functions of a library return.
enum MXReturnValue : int { MX_FAIL = 0, MX_SUCCESS = 1 };

enum MXDType : int {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kUint8 = 3,
  kInt32 = 4,
  kInt8 = 5,
  kInt64 = 6,
  kUNSET = 100
};

enum MXStorageType : int { kDefaultStorage = 0, kRowSparseStorage = 1, kCSRStorage = 2 };

/// A device: its type, "cpu" or "gpu", and its number.
struct MXContext {
  MXContext() : dev_type("error"), dev_id(-1) {}
  explicit MXContext(std::string type, int id) : dev_type(std::move(type)), dev_id(id) {}
  explicit MXContext(const char* type, int id) : dev_type(type), dev_id(id) {}

  static MXContext CPU() { return MXContext("cpu", 0); }
  static MXContext GPU() { return MXContext("gpu", 0); }
  static MXContext CPU(int id) { return MXContext("cpu", id); }
  static MXContext GPU(int id) { return MXContext("gpu", id); }

  std::string dev_type;
  int dev_id;
};

/// The arrays of a sparse tensor: what `MXTensor::data<MXSparse>()` points at.
struct MXSparse {
  void* data = nullptr;        ///< the stored elements; row_sparse: whole rows
  int64_t data_len = 0;        ///< how many elements
  int64_t* indices = nullptr;  ///< CSR: the column of each element; row_sparse: the row of each stored row
  int64_t indices_len = 0;
  int64_t* indptr = nullptr;  ///< CSR: where each row begins, and the end of the last; row_sparse: null
  int64_t indptr_len = 0;

  void set(void* elements, const int64_t* dims, int ndims, void* idx, int64_t num_idx,
           void* idx_ptr = nullptr, int64_t num_idx_ptr = 0) {
    data = elements;
    indices = static_cast<int64_t*>(idx);
    indices_len = num_idx;
    data_len = num_idx;
    if (idx_ptr != nullptr) {
      indptr = static_cast<int64_t*>(idx_ptr);
      indptr_len = num_idx_ptr;
    } else {
      for (int i = 1; i < ndims; ++i) data_len *= dims[i];
    }
  }
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

namespace minpy PRIVATE_SYMBOL {

inline DLDeviceType dlpack_device(const std::string& type) {
  if (type == "cpu") return kDLCPU;
  if (type == "gpu") return kDLGPU;
  if (type == "opencl") return kDLOpenCL;
  if (type == "vulcan" || type == "vulkan") return kDLVulkan;
  if (type == "metal") return kDLMetal;
  if (type == "vpi") return kDLVPI;
  if (type == "rocm") return kDLROCM;
  return kDLExtDev;
}

inline DLDataType dlpack_dtype(mxnet::ext::MXDType dtype) {
  const auto make = [](DLDataTypeCode code, uint8_t bits) {
    return DLDataType{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case mxnet::ext::kFloat32: return make(kDLFloat, 32);
    case mxnet::ext::kFloat64: return make(kDLFloat, 64);
    case mxnet::ext::kFloat16: return make(kDLFloat, 16);
    case mxnet::ext::kUint8: return make(kDLUInt, 8);
    case mxnet::ext::kInt32: return make(kDLInt, 32);
    case mxnet::ext::kInt8: return make(kDLInt, 8);
    case mxnet::ext::kInt64: return make(kDLInt, 64);
    case mxnet::ext::kUNSET: break;
  }
  throw std::runtime_error("Error! Invalid dtype flag: " + std::to_string(static_cast<int>(dtype)) +
                           " when constructing MXTensor (known are 0 to 6)");
}

#if defined(MINPY_CHECK_DTYPES)
/// What `MXTensor::data<T>()` demands of a tensor when MINPY_CHECK_DTYPES is defined: T has the kind and the
/// size of its elements. `char` reads anything, and classes stand for what C++ has no type for.
template <class T>
inline void check_elements(mxnet::ext::MXDType dtype, mxnet::ext::MXStorageType stype) {
  const bool dense = stype == mxnet::ext::kDefaultStorage;
  if (std::is_same<T, mxnet::ext::MXSparse>::value == dense && !std::is_void<T>::value) {
    throw std::runtime_error(dense ? "data<MXSparse>() of a dense tensor"
                                   : "data<T>() of a sparse tensor: use data<MXSparse>()");
  }
  if (!dense || !std::is_arithmetic<T>::value || std::is_same<T, char>::value) return;
  const DLDataType type = dlpack_dtype(dtype);
  const DLDataTypeCode code = std::is_floating_point<T>::value ? kDLFloat
                              : std::is_signed<T>::value       ? kDLInt
                                                               : kDLUInt;
  const bool half = type.code == kDLFloat && type.bits == 16 && std::is_integral<T>::value;
  if (type.bits != 8 * sizeof(T) || (type.code != code && !half)) {
    static const char* const codes[] = {"int", "uint", "float"};
    std::ostringstream message;
    message << "data<T>() with a " << codes[code] << 8 * sizeof(T) << " of a tensor whose dtype is "
            << codes[type.code] << static_cast<int>(type.bits);
    throw std::runtime_error(message.str());
  }
}
#endif

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// A tensor whose memory belongs to the host. Dense tensors are contiguous, in C order.
struct MXTensor {
  MXTensor() : data_ptr(nullptr), dtype(kUNSET), verID(0), dltensor(), stype(kDefaultStorage) {}

  MXTensor(void* data, std::vector<int64_t> dims, MXDType type, std::size_t vID, MXContext context,
           MXStorageType storage = kDefaultStorage)
      : data_ptr(data),
        shape(std::move(dims)),
        dtype(type),
        verID(vID),
        ctx(std::move(context)),
        dltensor(),
        stype(storage) {
    setDLTensor();
  }

  MXTensor(const MXTensor& other)
      : data_ptr(other.data_ptr),
        shape(other.shape),
        dtype(other.dtype),
        verID(other.verID),
        ctx(other.ctx),
        dltensor(other.dltensor),
        stype(other.stype) {
    dltensor.shape = shape.data();
  }

  MXTensor& operator=(const MXTensor& other) {
    data_ptr = other.data_ptr;
    shape = other.shape;
    dtype = other.dtype;
    verID = other.verID;
    ctx = other.ctx;
    dltensor = other.dltensor;
    stype = other.stype;
    dltensor.shape = shape.data();
    return *this;
  }

  void setTensor(void* data, MXDType type, const int64_t* dims, int ndims, std::size_t vID, MXContext context,
                 MXStorageType storage) {
    data_ptr = data;
    dtype = type;
    verID = vID;
    ctx = std::move(context);
    stype = storage;
    std::vector<int64_t> copied(dims, dims + (ndims > 0 ? ndims : 0));  // dims may be in this shape
    shape.swap(copied);
    setDLTensor();
  }

  /// Makes `dltensor` describe what the other members say.
  void setDLTensor() {
    dltensor.dtype = minpy::dlpack_dtype(dtype);
    dltensor.data = data_ptr;
    dltensor.ndim = static_cast<int>(shape.size());
    dltensor.shape = shape.data();
    dltensor.strides = nullptr;
    dltensor.byte_offset = 0;
    dltensor.ctx.device_type = minpy::dlpack_device(ctx.dev_type);
    dltensor.ctx.device_id = ctx.dev_id;
  }

  /// The elements; of a sparse tensor, with `T = MXSparse`, its arrays. Nothing checks that T fits unless
  /// MINPY_CHECK_DTYPES is defined.
  template <class T>
  T* data() {
#if defined(MINPY_CHECK_DTYPES)
    minpy::check_elements<T>(dtype, stype);
#endif
    return static_cast<T*>(data_ptr);
  }

  /// How many elements; 1 for no dimensions.
  int64_t size() const {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    return count;
  }

  /// Whether both are the same memory in the same version, seen alike.
  bool isSame(const MXTensor& other) const {
    return data_ptr == other.data_ptr && shape == other.shape && dtype == other.dtype &&
           verID == other.verID && ctx.dev_type == other.ctx.dev_type && ctx.dev_id == other.ctx.dev_id &&
           stype == other.stype;
  }

  void* data_ptr;
  std::vector<int64_t> shape;
  MXDType dtype;
  std::size_t verID;  ///< counts the writes to the memory
  MXContext ctx;
  DLTensor dltensor;
  MXStorageType stype;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_TENSOR_H_
