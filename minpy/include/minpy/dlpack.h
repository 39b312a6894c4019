/// DLPack 0.2, the view of a tensor that other libraries take without a copy.
#ifndef MINPY_DLPACK_H_
#define MINPY_DLPACK_H_

#include "platform.h"

#ifndef DLPACK_VERSION
#define DLPACK_VERSION 020

extern "C" {

typedef enum {
  kDLCPU = 1,
  kDLGPU = 2,
  kDLCPUPinned = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLExtDev = 12
} DLDeviceType;

typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U } DLDataTypeCode;

typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLContext;

typedef struct {
  uint8_t code;  ///< a DLDataTypeCode
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLContext ctx;
  int ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: the tensor is dense, in C order
  uint64_t byte_offset;
} DLTensor;

}  // extern "C"

#endif  // DLPACK_VERSION

#endif  // MINPY_DLPACK_H_
