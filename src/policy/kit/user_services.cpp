#include "policy/kit/user_services.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/wide.hpp"

namespace berth {

void UserServices::follow(const ClusterView& view) {
  const Instant last = view.now() - Duration(micros(view.now()) % micros(kStep));
  if (at == last) return;
  *this = {.at = last};
  Wide sum = 0;
  for (const auto& [user, account] : view.accounts()) {
    const ShareSeconds had = account.service_at(view.now(), view.settings().service_half_life);
    sum += by[user] = had.raw() / account.weight_milli;
  }
  const auto users = static_cast<std::int64_t>(std::max<std::size_t>(by.size(), 1));
  mean = static_cast<std::int64_t>(sum / users);
}

}  // namespace berth
