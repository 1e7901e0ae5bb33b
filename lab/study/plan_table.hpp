// A table of the plan's file, read key by key.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth::lab {

/// Every key must be asked for and of its type. What is wrong is kept for check(), so that readers
/// may go on with an empty value.
class PlanTable {
 public:
  PlanTable(const toml::table& table, std::string where);

  /// Keys that it lacks are those of `other` from now on; null: of none.
  void like(const toml::table* other) { other_ = other; }

  std::string text(std::string_view key);
  std::vector<std::string> words(std::string_view key);
  std::vector<std::vector<std::string>> lists(std::string_view key);
  std::optional<double> number(std::string_view key);

  /// Errors: BadData for the first thing that was wrong, keys that were not asked for included.
  Expected<void> check();

 private:
  const toml::node* found(std::string_view key);
  const toml::array* list(std::string_view key, const char* wanted);
  void refuse(std::string_view key, const char* wanted);

  const toml::table& table_;
  const toml::table* other_ = nullptr;
  std::string where_;
  std::vector<std::string> seen_;
  std::string wrong_;
};

}  // namespace berth::lab
