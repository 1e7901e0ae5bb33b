// The live objects of one kind. A handle is the object's address; one that is not in the table is
// answered with an error instead of being followed.
#pragma once

#include <algorithm>
#include <map>
#include <memory>

namespace berth::emu {

template <class Object>
class Handles {
 public:
  Object* add(Object object) {
    auto owned = std::make_unique<Object>(std::move(object));
    auto* handle = owned.get();
    live_.emplace(handle, std::move(owned));
    return handle;
  }
  bool contains(const Object* handle) const { return live_.contains(handle); }
  bool remove(const Object* handle) { return live_.erase(handle) == 1; }

  /// Calls `use` for each object that `matches`, then removes it.
  void remove_if(auto matches, auto use) {
    for (auto entry = live_.begin(); entry != live_.end();) {
      if (matches(*entry->second)) {
        use(*entry->second);
        entry = live_.erase(entry);
      } else {
        ++entry;
      }
    }
  }

  void for_each(auto use) {
    for (auto& [handle, object] : live_) use(*object);
  }

  bool any(auto matches) const {
    return std::ranges::any_of(live_, [&](const auto& entry) { return matches(*entry.second); });
  }

 private:
  std::map<const Object*, std::unique_ptr<Object>> live_;
};

}  // namespace berth::emu
