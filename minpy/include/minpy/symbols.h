/// The names and the types of all C functions of a library, for programs that load libraries themselves.
#ifndef MINPY_SYMBOLS_H_
#define MINPY_SYMBOLS_H_

#include "graph_entry_points.h"
#include "operator_entry_points.h"

#define MXLIB_OPVERSION_STR "_opVersion"
#define MXLIB_INITIALIZE_STR "initialize"
#define MXLIB_MSGSIZE_STR "_msgSize"
#define MXLIB_MSGGET_STR "_msgGet"
#define MXLIB_OPREGSIZE_STR "_opRegSize"
#define MXLIB_OPREGGET_STR "_opRegGet"
#define MXLIB_OPCALLFREE_STR "_opCallFree"
#define MXLIB_OPCALLPARSEATTRS_STR "_opCallParseAttrs"
#define MXLIB_OPCALLINFERSHAPE_STR "_opCallInferShape"
#define MXLIB_OPCALLINFERTYPE_STR "_opCallInferType"
#define MXLIB_OPCALLINFERSTYPE_STR "_opCallInferSType"
#define MXLIB_OPCALLMUTATEINPUTS_STR "_opCallMutateInputs"
#define MXLIB_OPCALLFCOMP_STR "_opCallFCompute"
#define MXLIB_OPCALLCREATEOPSTATE_STR "_opCallCreateOpState"
#define MXLIB_OPCALLDESTROYOPSTATE_STR "_opCallDestroyOpState"
#define MXLIB_OPCALLFSTATEFULCOMP_STR "_opCallFStatefulCompute"
#define MXLIB_PARTREGSIZE_STR "_partRegSize"
#define MXLIB_PARTREGGETCOUNT_STR "_partRegGetCount"
#define MXLIB_PARTREGGET_STR "_partRegGet"
#define MXLIB_PARTCALLSUPPORTEDOPS_STR "_partCallSupportedOps"
#define MXLIB_PARTCALLCREATESELECTOR_STR "_partCallCreateSelector"
#define MXLIB_PARTCALLSELECT_STR "_partCallSelect"
#define MXLIB_PARTCALLSELECTINPUT_STR "_partCallSelectInput"
#define MXLIB_PARTCALLSELECTOUTPUT_STR "_partCallSelectOutput"
#define MXLIB_PARTCALLFILTER_STR "_partCallFilter"
#define MXLIB_PARTCALLRESET_STR "_partCallReset"
#define MXLIB_PARTCALLREVIEWSUBGRAPH_STR "_partCallReviewSubgraph"
#define MXLIB_PASSREGSIZE_STR "_passRegSize"
#define MXLIB_PASSREGGET_STR "_passRegGet"
#define MXLIB_PASSCALLGRAPHPASS_STR "_passCallGraphPass"

namespace mxnet {
namespace ext {
inline namespace abi11 {

typedef decltype(&::_opVersion) opVersion_t;
typedef decltype(&::initialize) initialize_t;
typedef decltype(&::_msgSize) msgSize_t;
typedef decltype(&::_msgGet) msgGet_t;
typedef decltype(&::_opRegSize) opRegSize_t;
typedef decltype(&::_opRegGet) opRegGet_t;
typedef decltype(&::_opCallFree) opCallFree_t;
typedef decltype(&::_opCallParseAttrs) opCallParseAttrs_t;
typedef decltype(&::_opCallInferShape) opCallInferShape_t;
typedef decltype(&::_opCallInferType) opCallInferType_t;
typedef decltype(&::_opCallInferSType) opCallInferSType_t;
typedef decltype(&::_opCallMutateInputs) opCallMutateInputs_t;
typedef decltype(&::_opCallFCompute) opCallFComp_t;
typedef decltype(&::_opCallCreateOpState) opCallCreateOpState_t;
typedef decltype(&::_opCallDestroyOpState) opCallDestroyOpState_t;
typedef decltype(&::_opCallFStatefulCompute) opCallFStatefulComp_t;
typedef decltype(&::_partRegSize) partRegSize_t;
typedef decltype(&::_partRegGetCount) partRegGetCount_t;
typedef decltype(&::_partRegGet) partRegGet_t;
typedef decltype(&::_partCallSupportedOps) partCallSupportedOps_t;
typedef decltype(&::_partCallCreateSelector) partCallCreateSelector_t;
typedef decltype(&::_partCallSelect) partCallSelect_t;
typedef decltype(&::_partCallSelectInput) partCallSelectInput_t;
typedef decltype(&::_partCallSelectOutput) partCallSelectOutput_t;
typedef decltype(&::_partCallFilter) partCallFilter_t;
typedef decltype(&::_partCallReset) partCallReset_t;
typedef decltype(&::_partCallReviewSubgraph) partCallReviewSubgraph_t;
typedef decltype(&::_passRegSize) passRegSize_t;
typedef decltype(&::_passRegGet) passRegGet_t;
typedef decltype(&::_passCallGraphPass) passCallGraphPass_t;

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_SYMBOLS_H_
