#include "lab/study/plan_table.hpp"

#include <algorithm>

namespace berth::lab {

PlanTable::PlanTable(const toml::table& table, std::string where)
    : table_(table), where_(std::move(where)) {}

std::string PlanTable::text(std::string_view key) {
  const toml::node* const node = found(key);
  if (node == nullptr) return "";
  const auto value = node->value_exact<std::string>();
  if (!value) refuse(key, "a string");
  return value.value_or("");
}

std::vector<std::string> PlanTable::words(std::string_view key) {
  std::vector<std::string> words;
  const toml::array* const all = list(key, "a list of strings");
  if (all == nullptr) return words;
  for (const toml::node& one : *all) {
    const auto value = one.value_exact<std::string>();
    if (!value) refuse(key, "a list of strings");
    words.push_back(value.value_or(""));
  }
  return words;
}

std::vector<std::vector<std::string>> PlanTable::lists(std::string_view key) {
  std::vector<std::vector<std::string>> lists;
  const toml::array* const all = list(key, "a list of lists of strings");
  if (all == nullptr) return lists;
  for (const toml::node& some : *all) {
    auto& words = lists.emplace_back();
    if (!some.is_array()) {
      refuse(key, "a list of lists of strings");
      continue;
    }
    for (const toml::node& one : *some.as_array()) words.push_back(one.value_or(std::string()));
  }
  return lists;
}

std::optional<double> PlanTable::number(std::string_view key) {
  const toml::node* const node = found(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value<double>();
  if (!value) refuse(key, "a number");
  return value;
}

Expected<void> PlanTable::check() {
  for (const auto& [key, value] : table_) {
    if (std::ranges::find(seen_, key.str()) == seen_.end()) refuse(key.str(), "left out");
  }
  if (wrong_.empty()) return {};
  return fail(ErrorCode::BadData, wrong_);
}

const toml::node* PlanTable::found(std::string_view key) {
  seen_.emplace_back(key);
  const toml::node* const mine = table_.get(key);
  return mine != nullptr || other_ == nullptr ? mine : other_->get(key);
}

const toml::array* PlanTable::list(std::string_view key, const char* wanted) {
  const toml::node* const node = found(key);
  if (node == nullptr) return nullptr;
  if (!node->is_array()) refuse(key, wanted);
  return node->as_array();
}

void PlanTable::refuse(std::string_view key, const char* wanted) {
  if (wrong_.empty()) wrong_ = where_ + ": " + std::string(key) + " must be " + wanted;
}

}  // namespace berth::lab
