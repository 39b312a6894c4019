/// What every entry point does: C arrays become objects on the way in, exceptions become messages.
#ifndef MINPY_BOUNDARY_H_
#define MINPY_BOUNDARY_H_

#include <cstdio>
#include <exception>
#include <new>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "messages.h"
#include "platform.h"
#include "tensor.h"

namespace minpy PRIVATE_SYMBOL {

/// Adds a message, if there is memory for one.
inline void report(const char* what, const char* problem, const char* details = "") noexcept {
  try {
    mxnet::ext::MXerrorMsgs::get()->add(what, 0) << problem << details;
  } catch (const std::exception&) {
    fputs("out of memory for a message\n", stderr);
  }
}

/// Calls `body`, whose result this returns: 0 if it throws. A C++ exception, which the host could not take,
/// becomes a message.
// UBSan would object that what ends a thread is caught by a reference to nothing; inlined, it does.
__attribute__((noinline, no_sanitize("null"))) inline int guarded(const char* what, int (*body)(void*),
                                                                  void* context) {
  try {
    return body(context);
  }
#if defined(__GLIBCXX__)
  catch (abi::__forced_unwind&) {
    throw;  // the thread is being ended: that must not be stopped
  }
#endif
  catch (const std::exception& error) {
    report(what, "C++ exception: ", error.what());
  } catch (...) {
    report(what, "C++ exception of a type that is not a std::exception");
  }
  return 0;
}

/// A lambda as a function and what it is called with.
template <class Body>
struct Guarded {
  static int completes(void* body) {
    (*static_cast<Body*>(body))();
    return 1;
  }
  static int succeeds(void* body) { return (*static_cast<Body*>(body))() == mxnet::ext::MX_SUCCESS ? 1 : 0; }
};

/// Calls `body`. Whether it returned.
template <class Body>
inline bool completes(const char* what, Body body) {
  return guarded(what, &Guarded<Body>::completes, &body) != 0;
}

/// Calls `body`, which returns an MXReturnValue or throws. 1 for success, 0 for failure.
template <class Body>
inline int status(const char* what, Body body) {
  return guarded(what, &Guarded<Body>::succeeds, &body);
}

/// For errors in what a user's function left behind.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw std::runtime_error(message);
}

inline void require_count(const char* things, std::size_t got, int expected) {
  require(got == static_cast<std::size_t>(expected), "the function left " + std::to_string(got) + " " +
                                                         things + ", expected " + std::to_string(expected));
}

inline std::string text(const char* string) { return string != nullptr ? string : ""; }

/// Attributes or options; of equal keys the last counts.
inline std::unordered_map<std::string, std::string> string_map(const char* const* keys,
                                                               const char* const* values, int count) {
  std::unordered_map<std::string, std::string> map;
  map.reserve(static_cast<std::size_t>(count > 0 ? count : 0));
  for (int i = 0; i < count; ++i) map[text(keys[i])] = text(values[i]);
  return map;
}

/// Shapes of inference; those that are not known are empty.
inline std::vector<std::vector<unsigned int>> shape_vectors(unsigned int** shapes, const int* dims,
                                                            int count) {
  std::vector<std::vector<unsigned int>> vectors(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (dims[i] > 0) vectors[static_cast<std::size_t>(i)].assign(shapes[i], shapes[i] + dims[i]);
  }
  return vectors;
}

/// Memory that the host gives back through _opCallFree, unless it never gets it.
template <class T>
class HostArray {
 public:
  explicit HostArray(std::size_t count) : array_(static_cast<T*>(calloc(count > 0 ? count : 1, sizeof(T)))) {
    if (array_ == nullptr) throw std::bad_alloc();
  }
  ~HostArray() { free(array_); }
  HostArray(HostArray&& other) noexcept : array_(other.release()) {}
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  T& operator[](std::size_t index) { return array_[index]; }
  T* release() {
    T* array = array_;
    array_ = nullptr;
    return array;
  }

 private:
  T* array_;
};

template <class T>
inline HostArray<T> host_array(const std::vector<T>& values) {
  HostArray<T> array(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) array[i] = values[i];
  return array;
}

inline HostArray<char> host_string(const std::string& value) {
  HostArray<char> string(value.size() + 1);
  memcpy(&string[0], value.data(), value.size());
  return string;
}

/// A known number of arrays (shapes, strings) and the array of pointers to them. Nothing fails once it is
/// filled, so that a host gets all of its arrays or none.
template <class T>
class HostArrays {
 public:
  explicit HostArrays(std::size_t count) : arrays_(count), count_(0) {}
  ~HostArrays() {
    for (std::size_t i = 0; i < count_; ++i) free(arrays_[i]);
  }
  HostArrays(const HostArrays&) = delete;
  HostArrays& operator=(const HostArrays&) = delete;

  void push_back(HostArray<T> array) { arrays_[count_++] = array.release(); }

  T** release() {
    count_ = 0;
    return arrays_.release();
  }

 private:
  HostArray<T*> arrays_;
  std::size_t count_;
};

/// Inputs or outputs of a call.
struct TensorArrays {
  const int64_t** shapes;
  const int* dims;
  void** data;
  const int* types;
  const std::size_t* version_ids;
  const char** dev_types;
  const int* dev_ids;
  int count;
  const int* storage_types;  ///< null: all are dense
  void** indices;
  void** indptr;
  const int64_t* indices_lengths;
  const int64_t* indptr_lengths;
};

/// Tensors of those arrays; `sparse` keeps what the `data` of sparse ones points at.
inline std::vector<mxnet::ext::MXTensor> tensors(const TensorArrays& from,
                                                 std::vector<mxnet::ext::MXSparse>* sparse) {
  const std::size_t count = static_cast<std::size_t>(from.count);
  std::vector<mxnet::ext::MXTensor> made(count);
  if (from.storage_types != nullptr) sparse->resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int stype = from.storage_types != nullptr ? from.storage_types[i] : mxnet::ext::kDefaultStorage;
    void* data = from.data[i];
    if (stype != mxnet::ext::kDefaultStorage) {
      require(stype == mxnet::ext::kRowSparseStorage || stype == mxnet::ext::kCSRStorage,
              "unknown storage type " + std::to_string(stype));
      const bool csr = stype == mxnet::ext::kCSRStorage;
      (*sparse)[i].set(data, from.shapes[i], from.dims[i], from.indices[i], from.indices_lengths[i],
                       csr ? from.indptr[i] : nullptr, csr ? from.indptr_lengths[i] : 0);
      data = &(*sparse)[i];
    }
    made[i].setTensor(data, static_cast<mxnet::ext::MXDType>(from.types[i]), from.shapes[i], from.dims[i],
                      from.version_ids[i], mxnet::ext::MXContext(text(from.dev_types[i]), from.dev_ids[i]),
                      static_cast<mxnet::ext::MXStorageType>(stype));
  }
  return made;
}

}  // namespace minpy

#endif  // MINPY_BOUNDARY_H_
