// Everything is in the header: this file is for build lines made for MXNet, which name it.
#include "../include/lib_api.h"
