// The name under which sources for MXNet 1.8 and 1.9 include it.
#include "../lib_api.h"
