#include "cli/print/option_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/text/job_fields.hpp"

namespace berth::cli {

namespace {

/// `option`: "" where the words behind the key say it all.
struct KeyWord {
  std::string_view key;
  std::string_view option;
};

constexpr auto kMachineKeys = std::to_array<KeyWord>({
    {"from_at", "--from"},
    {"gpus", ""},
    {"reason", "--reason"},
    {"reservations", ""},
    {"until_at", "--until"},
    {"users", "--user"},
});

/// Nothing for a key that no option stands for.
std::optional<std::string_view> word_of(std::string_view target, std::string_view key) {
  key = key.substr(0, key.find_first_of("[."));  // of a list, or of an object
  if (target.starts_with("/v1/jobs")) {
    const JobField* const field = find_job_field(key);
    if (field == nullptr || field->option.name.empty()) return std::nullopt;
    return field->option.name;
  }
  const auto* const found = std::ranges::find(kMachineKeys, key, &KeyWord::key);
  return found == kMachineKeys.end() ? std::nullopt : std::optional(found->option);
}

/// `job 7: `, which some refusals begin with.
std::size_t name_size(std::string_view message) {
  constexpr std::string_view kJob = "job ";
  if (!message.starts_with(kJob)) return 0;
  const std::size_t end = message.find_first_not_of("0123456789", kJob.size());
  return end != std::string_view::npos && message.substr(end).starts_with(": ") ? end + 2 : 0;
}

}  // namespace

std::string_view option_for(std::string_view key) { return word_of("/v1/jobs", key).value_or(""); }

std::string in_options(std::string_view target, const std::string& message) {
  constexpr std::string_view kChange = "change: ";  // of many jobs at once
  if (message.starts_with(kChange)) return in_options("/v1/jobs", message.substr(kChange.size()));
  const std::size_t begin = name_size(message);
  const std::size_t colon = message.find(": ", begin);
  if (colon == std::string::npos) return message;
  constexpr std::string_view kAnd = " and ";
  const std::string_view named = std::string_view(message).substr(begin, colon - begin);
  std::string options;
  for (std::size_t at = 0; at <= named.size();) {
    const std::size_t end = std::min(named.find(kAnd, at), named.size());
    const auto word = word_of(target, named.substr(at, end - at));
    if (!word) return message;
    options += (options.empty() ? "" : std::string(kAnd)) + std::string(*word);
    at = end + kAnd.size();
  }
  std::string rest = message.substr(options.empty() ? colon + 2 : colon);
  constexpr std::string_view kAfter = ": after-";  // of `job 7 ended as failed: after-ok 7 can ...`
  const std::size_t kind = named == "after" ? rest.find(kAfter) : std::string::npos;
  if (kind != std::string::npos) rest.replace(kind, 2, ": --");
  return message.substr(0, begin) + options + rest;
}

std::string typed_time(double seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  constexpr std::int64_t kDay = 86400;
  const auto total = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  if (total % kMinute != 0 || total == 0) return std::to_string(total) + "s";
  if (total < kHour) return std::to_string(total / kMinute) + "min";
  if (total % kDay == 0) return std::to_string(total / kDay) + "d";
  const std::string hours = std::to_string(total / kHour) + "h";
  const std::int64_t minutes = total % kHour / kMinute;
  return minutes == 0 ? hours : hours + (minutes < 10 ? "0" : "") + std::to_string(minutes) + "m";
}

std::string typed_size(std::int64_t bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  if (bytes % kGiB == 0) return std::to_string(bytes / kGiB) + "G";
  return std::to_string((bytes + kMiB - 1) / kMiB) + "M";
}

std::string options_of(const Json& change) {
  std::string text;
  if (!change.is_object()) return text;
  for (const auto& [key, value] : change.items()) {
    const std::string_view option = option_for(key);
    if (option.empty()) continue;
    std::string typed;
    if (value.is_array()) {
      for (const Json& one : value) {
        typed +=
            (typed.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
      }
    } else if (key.ends_with("_seconds") && value.is_number()) {
      typed = typed_time(value.get<double>());
    } else if (key.ends_with("_bytes") && value.is_number_integer()) {
      typed = typed_size(value.get<std::int64_t>());
    } else if (value.is_boolean()) {
      typed = value.get<bool>() ? "yes" : "no";
    } else {
      typed = value.is_string() ? value.get<std::string>() : value.dump();
    }
    text += (text.empty() ? "" : " ") + std::string(option) + " " + typed;
  }
  return text;
}

std::string plain_words(std::string text) {
  constexpr std::string_view kTwice = ": At Most 1 required but received ";
  if (const std::size_t at = text.find(kTwice); at != std::string::npos) {
    return text.replace(at, kTwice.size(), ": is given once at most, not ") + " times";
  }
  constexpr std::string_view kBefore = ": 1 required ";
  constexpr std::string_view kBehind = " missing";
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos || !text.ends_with(kBehind)) return text;
  text.resize(text.size() - kBehind.size());
  return text.replace(at, kBefore.size(), ": needs a value: ");
}

namespace {

/// `--vram`, `--vram=10G`; of a letter `-o`, `-oFILE`, `-xo`.
bool may_name(std::string_view word, std::string_view name) {
  if (name.starts_with("--")) return word.starts_with(name);
  const bool has_letters = word.starts_with('-') && !word.starts_with("--");
  return has_letters && word.contains(name.back());
}

}  // namespace

bool may_be_among(const std::optional<std::vector<std::string>>& words, std::string_view names) {
  if (!words) return true;
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, comma).substr(0, rest.find('{'));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto names_it = [&](const std::string& word) { return may_name(word, name); };
    if (std::ranges::any_of(*words, names_it)) return true;
  }
  return false;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace berth::cli
