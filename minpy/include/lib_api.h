#ifndef MINPY_LIB_API_H_
#define MINPY_LIB_API_H_
#include "minpy/operator_entry_points.h"
#endif
