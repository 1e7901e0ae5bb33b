// The shares of `gandiva-fair`.
#pragma once

#include <memory>

#include "policy/allocate/allocator.hpp"

namespace berth {

/// By weight, and by trades between users (gandiva_fair.cpp).
std::unique_ptr<Allocator> fair_trades();

}  // namespace berth
