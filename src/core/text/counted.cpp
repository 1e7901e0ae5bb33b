#include "core/text/counted.hpp"

#include <algorithm>

namespace berth {

std::string number_of_things(std::size_t count, std::string_view many) {
  const std::string number = std::to_string(count) + " ";
  if (count != 1) return number + std::string(many);
  std::string one(many);
  for (std::size_t at = 0; at < one.size();) {
    const std::size_t end = std::min(one.find(' ', at), one.size());
    if (end > at && one[end - 1] == 's') {
      one.erase(end - 1, 1);
      break;
    }
    at = end + 1;
  }
  constexpr std::string_view kMany = " that have ";
  if (const std::size_t at = one.find(kMany); at != one.npos) {
    one.replace(at, kMany.size(), " that has ");
  }
  return number + one;
}

}  // namespace berth
