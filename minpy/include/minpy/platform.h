/// The standard headers that sources of extension libraries rely on, and what compilers differ in.
#ifndef MINPY_PLATFORM_H_
#define MINPY_PLATFORM_H_

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#if defined(__NVCC__)
#include <cuda_runtime.h>
#include <curand_kernel.h>
#endif

#if !defined(__GNUC__)
#error "lib_api.h needs GCC, Clang or a compiler that knows their attributes"
#endif

/// The version of the interface between a library and its host. Hosts demand that it is theirs.
#define MX_LIBRARY_VERSION 11

#define MX_STR_CONCAT_(a, b) a##b
#define MX_STR_CONCAT(a, b) MX_STR_CONCAT_(a, b)
#define MX_STRINGIFY(x) #x
#define MX_TOSTRING(x) MX_STRINGIFY(x)

/// For what must be one per library, though several libraries of a process define it.
#define PRIVATE_SYMBOL __attribute__((visibility("hidden")))
#define MINPY_PUBLIC_SYMBOL __attribute__((visibility("default")))
#define MX_INT_RET MINPY_PUBLIC_SYMBOL int
#define MX_VOID_RET MINPY_PUBLIC_SYMBOL void

/// A C function that hosts look up by name: emitted although nothing calls it, public even under
/// -fvisibility=hidden, and weak, so that any number of source files of a library may define it.
#define MINPY_ENTRY_POINT extern "C" __attribute__((weak, used, visibility("default")))

/// The name by which linkers know a C function.
#define MINPY_LINKED_AS(name) __asm__(MX_TOSTRING(__USER_LABEL_PREFIX__) name)

#endif  // MINPY_PLATFORM_H_
