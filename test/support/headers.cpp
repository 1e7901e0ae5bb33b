#include "support/headers.hpp"  // CMake compiles a header only for a source of the same target
