#include "core/knowledge/speeds.hpp"

#include <algorithm>
#include <array>

namespace berth {

void Speeds::add_spread(const std::string& model, std::int64_t gpus, std::int64_t nodes,
                        Rate rate) {
  spreads_[{model, gpus}][nodes].add(rate);
}

void Speeds::add_type(const std::string& model, std::int64_t gpus, const std::string& type,
                      Rate rate) {
  types_[{model, gpus}][type].add(rate);
}

void Speeds::rule_out(const std::string& model, std::int64_t gpus, const std::string& type) {
  ruled_out_.insert({{model, gpus}, type});
}

bool Speeds::runs_on(const std::string& model, std::int64_t gpus, const std::string& type) const {
  return !ruled_out_.contains({{model, gpus}, type});
}

void Speeds::add_pair(const std::string& model, std::int64_t gpus, const std::string& beside,
                      Rate rate) {
  pairs_[{model, gpus}][beside].add(rate);
}

void Speeds::add_utilisation(const std::string& model, Rate utilisation) {
  utilisations_[model].add(std::min(utilisation, kFullSpeed));
}

template <class Table, class Find>
std::optional<Rate> Speeds::first_of(const std::string& model, std::int64_t gpus,
                                     const Table& table, Find find) {
  const std::string any;
  const std::array<std::pair<const std::string*, std::int64_t>, 4> names = {
      {{&model, gpus}, {&model, 0}, {&any, gpus}, {&any, 0}}};
  for (const auto& [name, count] : names) {
    const auto row = table.find({*name, count});
    if (row == table.end()) continue;
    if (const auto entry = find(row->second); entry != row->second.end()) {
      return entry->second.rate();
    }
  }
  return std::nullopt;
}

std::optional<Rate> Speeds::spread(const std::string& model, std::int64_t gpus,
                                   std::int64_t nodes) const {
  return first_of(model, gpus, spreads_, [&](const std::map<std::int64_t, Mean>& row) {
    const auto as_many = row.lower_bound(nodes);
    return as_many == row.end() ? std::prev(row.end()) : as_many;
  });
}

std::optional<Rate> Speeds::on_type(const std::string& model, std::int64_t gpus,
                                    const std::string& type) const {
  return first_of(model, gpus, types_, [&](const auto& row) { return row.find(type); });
}

Rate Speeds::fastest_type(const std::string& model) const {
  Rate fastest = kFullSpeed;
  for (const auto& [name, row] : types_) {
    if (name.first != model && !name.first.empty()) continue;
    for (const auto& [type, mean] : row) fastest = std::max(fastest, mean.rate());
  }
  return fastest;
}

std::map<std::string, std::int64_t> Speeds::type_values() const {
  std::map<std::string, Mean> by_type;
  std::int64_t fastest = 1;
  for (const auto& [name, row] : types_) {
    for (const auto& [type, mean] : row) by_type[type].add(mean.rate());
  }
  for (const auto& [type, mean] : by_type) fastest = std::max(fastest, mean.rate().ppm());
  std::map<std::string, std::int64_t> values;
  for (const auto& [type, mean] : by_type) {
    values[type] = std::max<std::int64_t>(1, mean.rate().ppm() * 1000 / fastest);
  }
  return values;
}

namespace {

constexpr char kOnType = '\n';  ///< In no model's name, since names are words of lines.

}  // namespace

std::string Speeds::neighbour_on(const std::string& other, const std::string& type) {
  return other + kOnType + type;
}

std::optional<Rate> Speeds::beside(const std::string& model, std::int64_t gpus,
                                   const std::string& other) const {
  if (!runs_on(model, gpus, other)) return std::nullopt;
  const std::size_t end = std::min(other.find(kOnType), other.size());
  const std::string type = other.substr(end);  // with its mark, or nothing
  const std::array<std::string, 4> names = {other, other.substr(0, end), type, ""};
  return first_of(model, gpus, pairs_, [&](const auto& row) {
    auto found = row.end();
    for (auto name = names.begin(); name != names.end() && found == row.end(); ++name) {
      found = row.find(*name);
    }
    return found;
  });
}

std::optional<Rate> Speeds::mean_beside(const std::string& model) const {
  Mean mean;
  for (auto row = pairs_.lower_bound({model, 0}); row != pairs_.end() && row->first.first == model;
       ++row) {
    for (const auto& [other, rate] : row->second) mean.add(rate.rate());
  }
  return mean.count > 0 ? std::optional(mean.rate()) : std::nullopt;
}

Rate Speeds::scaled(const std::string& model, std::int64_t batch, std::int64_t asked,
                    std::int64_t given) const {
  if (given == asked || asked == 0) return kFullSpeed;
  const auto known = scaling_.speed(model, batch, asked, given);
  return known.value_or(Rate(std::min(Rate::kWhole, Rate::kWhole * given / asked)));
}

bool Speeds::is_sane() const {
  const auto is_mean = [](const auto& entry) {
    const Mean& mean = entry.second;
    return mean.count > 0 && mean.sum >= 0;
  };
  const auto is_row = [&](const auto& entry) {
    return !entry.second.empty() && std::ranges::all_of(entry.second, is_mean);
  };
  const auto is_table = [&](const auto& table) { return std::ranges::all_of(table, is_row); };
  const auto is_iteration = [](const auto& entry) {
    const auto is_time = [](Duration t) { return t >= Duration::zero() && t <= Iteration::kMost; };
    return is_time(entry.second.alone) && std::ranges::all_of(entry.second.stages, is_time);
  };
  return std::ranges::all_of(iterations_, is_iteration) && is_table(spreads_) && is_table(types_) &&
         is_table(pairs_) && std::ranges::all_of(utilisations_, is_mean) && scaling_.is_sane();
}

std::optional<Iteration> Speeds::iteration(const std::string& model, std::int64_t gpus) const {
  for (const Name& name : {Name(model, gpus), Name(model, 0)}) {
    if (const auto found = iterations_.find(name); found != iterations_.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

ModelFacts Speeds::facts(const std::string& model) const {
  ModelFacts facts;
  for (const std::string& name : {std::string(), model}) {
    if (const auto found = facts_.find(name); found != facts_.end()) {
      if (found->second.start) facts.start = found->second.start;
      if (found->second.restart) facts.restart = found->second.restart;
    }
    if (const auto found = utilisations_.find(name); found != utilisations_.end()) {
      facts.utilisation = found->second.rate();
    }
  }
  return facts;
}

}  // namespace berth
