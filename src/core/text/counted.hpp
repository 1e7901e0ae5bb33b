// So many of something, in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

/// `3 jobs that have not ended`, and `1 job that has not ended`: of one the first word of `many`
/// that ends in `s` loses it.
std::string number_of_things(std::size_t count, std::string_view many);

}  // namespace berth
