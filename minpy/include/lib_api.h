/// Operators, partitioners and graph passes in C++, for minpy and for MXNet 1.9.
///
/// A source file includes this header, registers what it has (REGISTER_OP, REGISTER_PARTITIONER,
/// REGISTER_PASS) and defines `initialize`; the shared library made of it is loaded by
/// `minpy.library.load`, or by MXNet 1.9.1's `mx.library.load`:
///
///     #include "lib_api.h"
///     using namespace mxnet::ext;
///
///     MXReturnValue forward(const std::unordered_map<std::string, std::string>& attributes,
///                           std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
///                           const OpResource& resource) {
///       const float* x = inputs->at(0).data<float>();
///       float* y = outputs->at(0).data<float>();
///       for (int64_t i = 0; i < inputs->at(0).size(); ++i) y[i] = 2 * x[i];
///       return MX_SUCCESS;
///     }
///     // ... parse_attributes, infer_type, infer_shape
///
///     REGISTER_OP(twice)
///         .setForward(forward, "cpu")
///         .setParseAttrs(parse_attributes)
///         .setInferType(infer_type)
///         .setInferShape(infer_shape);
///
///     MXReturnValue initialize(int version) { return version >= 10900 ? MX_SUCCESS : MX_FAIL; }
///
/// Only C crosses between a library and its host: functions, listed in minpy/symbols.h, that take arrays and
/// make the objects that users' functions see. Whatever a user's function throws ends there, as a message.
#ifndef MINPY_LIB_API_H_
#define MINPY_LIB_API_H_

#include "minpy/attributes.h"
#include "minpy/graph_entry_points.h"
#include "minpy/operator_entry_points.h"
#include "minpy/symbols.h"

#endif  // MINPY_LIB_API_H_
