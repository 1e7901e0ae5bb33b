#include "daemon/requests/request_json.hpp"

#include <cmath>
#include <utility>

#include "core/base/limits.hpp"
#include "daemon/loop/plain_json.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kDeepest = 8;
/// As many words as a command may have, and more than any other request needs.
constexpr std::size_t kMostValues = std::size_t{1} << 18;
static_assert(kMostValues * (1 + sizeof(char*)) > limits::kMostWords);

/// Reads a text once, and checks it meanwhile. Copying or printing values that are too deep would
/// exhaust the stack; a key that stands twice means one thing to one reader, another to the next.
/// The library's own way to watch a parse looks through a whole list at the end of each of its
/// parts.
class RequestReader : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!is_shallow()) return false;
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::move(name));
    if (!is_new) return refuse(member->first.substr(0, 60) + ": is there twice");
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
  const std::optional<std::string>& fault() const { return fault_; }
  Json take() { return std::move(whole_); }

 private:
  bool refuse(std::string what) {
    if (!fault_) fault_ = std::move(what);
    return false;
  }
  bool is_shallow() {
    if (open_.size() <= kDeepest) return true;
    return refuse("the request is nested deeper than " + std::to_string(kDeepest) + " levels");
  }
  bool add(Json value) { return place(std::move(value)) != nullptr; }
  /// Null for one too many.
  Json* place(Json value) {
    if (!is_shallow()) return nullptr;
    if (++values_ > kMostValues) {
      refuse("the request has more than " + std::to_string(kMostValues) +
             " values, which is the most");
      return nullptr;
    }
    Json* const target = open_.empty()              ? &whole_
                         : open_.back()->is_array() ? &open_.back()->emplace_back()
                                                    : member_;
    *target = std::move(value);
    return target;
  }
  bool open(Json empty) {
    Json* const target = place(std::move(empty));
    if (target != nullptr) open_.push_back(target);  // it moves no more while it is open
    return target != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json whole_;
  std::vector<Json*> open_;
  Json* member_ = nullptr;  ///< Of the innermost object: whose key was read.
  std::size_t values_ = 0;
  std::optional<std::string> fault_;
};

/// Why it cannot be an argument, a path or a variable; nothing for a text without NUL.
std::optional<std::string> fault_of(const Json& value) {
  if (!value.is_string()) return "must be a string, is " + shown_json(value);
  if (value.get_ref<const std::string&>().find('\0') == std::string::npos) return std::nullopt;
  return "holds a NUL byte";
}

}  // namespace

Expected<Json> parse_object(std::string_view body) {
  Json json;
  RequestReader plain;
  if (read_plain_json(body, plain) == PlainRead::Whole) {
    json = plain.take();
  } else {
    RequestReader reader;
    const bool is_json = Json::sax_parse(body.begin(), body.end(), &reader);
    if (reader.fault()) return fail(ErrorCode::BadData, *reader.fault());
    if (!is_json) return fail(ErrorCode::BadData, "the request is not JSON in UTF-8");
    json = reader.take();
  }
  if (!json.is_object()) return fail(ErrorCode::BadData, "the request is not a JSON object");
  return json;
}

std::unexpected<Error> wrong(const std::string& key, const std::string& what) {
  return fail(ErrorCode::InvalidArgument, key + ": " + what);
}

std::string shown_json(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text.resize(60), text += "...";
  return text;
}

Expected<void> read_value(const std::string& key, Json& value, std::string& target) {
  if (const auto fault = fault_of(value)) return wrong(key, *fault);
  target = std::move(value.get_ref<std::string&>());
  return {};
}

Expected<void> read_value(const std::string& key, Json& value, Label& target) {
  std::string text;
  if (auto done = read_value(key, value, text); !done) return done;
  target = std::move(text);
  return {};
}

Expected<void> read_value(const std::string& key, const Json& value, bool& target) {
  if (!value.is_boolean()) return wrong(key, "must be true or false, is " + shown_json(value));
  target = value.get<bool>();
  return {};
}

Expected<void> read_value(const std::string& key, Json& value, std::vector<std::string>& target) {
  if (!value.is_array()) return wrong(key, "must be a list of strings, is " + shown_json(value));
  target.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (const auto fault = fault_of(value[i])) {
      return wrong(key + "[" + std::to_string(i) + "]", *fault);
    }
    target.push_back(std::move(value[i].get_ref<std::string&>()));
  }
  return {};
}

Expected<std::int64_t> integer_in(const std::string& key, const Json& value, std::int64_t least,
                                  std::int64_t most) {
  if (!value.is_number()) return wrong(key, "must be a whole number, is " + shown_json(value));
  if (value.is_number_float()) {
    return wrong(key,
                 shown_json(value) + ", must be a whole number of at most " + std::to_string(most));
  }
  const bool is_huge =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const auto number = value.get<std::int64_t>();
  if (is_huge || number > most) {
    return wrong(key, shown_json(value) + ", the most is " + std::to_string(most));
  }
  if (number >= least) return number;
  return wrong(key, shown_json(value) + ", the least is " + std::to_string(least));
}

Expected<double> real_in(const std::string& key, const Json& value, double most) {
  if (!value.is_number()) return wrong(key, "must be a number, is " + shown_json(value));
  const double number = value.get<double>();
  if (!(number > 0)) return wrong(key, shown_json(value) + ", must be more than 0");
  if (!(number <= most)) {
    return wrong(key, shown_json(value) + ", the most is " + std::to_string(std::llround(most)));
  }
  return number;
}

Expected<void> read_value(const std::string& key, const Json& value, Instant& target) {
  auto at = real_in(key, value, static_cast<double>(micros(limits::kLastInstant)) / 1e6);
  if (!at && at.error().message.contains("the most is")) at.error().message += " (2200-01-01)";
  if (!at) return std::unexpected(at.error());
  target = instant_from_micros(std::max<std::int64_t>(1, std::llround(*at * 1e6)));
  return {};
}

Expected<void> check_most(const std::string& key, std::size_t count, const char* what,
                          std::size_t most) {
  if (count <= most) return {};
  return wrong(key, std::to_string(count) + what + ", the most is " + std::to_string(most));
}

Expected<void> check_bytes(const std::string& key, std::size_t size, std::size_t most) {
  return check_most(key, size, " bytes", most);
}

}  // namespace berth::daemon
