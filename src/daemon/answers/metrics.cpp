#include "daemon/answers/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text/words.hpp"

namespace berth::daemon {

namespace {

/// A label's value, quoted.
std::string quoted(const std::string& text) {
  std::string value = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') value += '\\';
    value += c == '\n' ? ' ' : c;
  }
  return value + "\"";
}

class Families {
 public:
  /// Samples follow, of this name; a counter's have `_total`.
  void begin(const std::string& name, const std::string& type, const std::string& unit,
             const std::string& help) {
    name_ = name;
    sample_name_ = type == "counter" ? name + "_total" : type == "info" ? name + "_info" : name;
    text_ += "# TYPE " + name + " " + type + "\n";
    if (!unit.empty()) text_ += "# UNIT " + name + " " + unit + "\n";
    text_ += "# HELP " + name + " " + help + "\n";
  }
  void sample(const std::string& labels, const std::string& value) {
    text_ += sample_name_ + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
  }
  void sample(const std::string& labels, std::int64_t value) {
    sample(labels, std::to_string(value));
  }
  std::string take() && { return std::move(text_) + "# EOF\n"; }

 private:
  std::string name_;
  std::string sample_name_;
  std::string text_;
};

void add_jobs(Families& families, const ClusterView& view) {
  std::map<std::string_view, std::int64_t> states = {
      {"starting", 0}, {"running", 0}, {"stopping", 0}};
  for (const JobId id : view.running()) ++states[word_for(view.find(id)->state)];
  families.begin("berth_jobs", "gauge", "", "Jobs that have not ended.");
  for (const auto& [state, count] : states) {
    families.sample("state=" + quoted(std::string(state)), count);
  }
  const std::size_t waiting = view.job_count() - view.running().size();
  families.sample("state=\"waiting\"", static_cast<std::int64_t>(waiting));
  families.begin("berth_jobs_ended", "counter", "", "Jobs that ended after they held a place.");
  families.sample("", static_cast<std::int64_t>(view.finished()));
  families.begin("berth_grants", "counter", "", "Places granted.");
  families.sample("", static_cast<std::int64_t>(view.grants()));
}

void add_users(Families& families, const ClusterView& view, UserNames& names) {
  const auto each = [&](auto value) {
    for (const auto& [user, account] : view.accounts()) {
      families.sample("user=" + quoted(names.of(user.value())), value(account));
    }
  };
  families.begin("berth_user_jobs", "gauge", "", "Jobs of a user that hold a place.");
  each([](const Account& account) { return std::int64_t{account.jobs}; });
  families.begin("berth_user_gpus", "gauge", "", "GPUs that jobs of a user hold.");
  each([](const Account& account) { return account.gpus.raw(); });
  families.begin("berth_user_charged_bytes", "gauge", "bytes",
                 "GPU memory that is charged to a user.");
  each([](const Account& account) { return account.charges.raw(); });
}

void add_gpus(Families& families, const Json& gpus) {
  struct Figure {
    const char* name;
    const char* key;
    const char* unit;
    const char* help;
  };
  constexpr auto kFigures = std::to_array<Figure>({
      {"berth_gpu_capacity_bytes", "capacity_bytes", "bytes", "Memory that can be granted."},
      {"berth_gpu_used_bytes", "used_bytes", "bytes", "Memory measured in use, by all processes."},
      {"berth_gpu_charged_bytes", "charged_bytes", "bytes", "Memory charged to jobs."},
      {"berth_gpu_foreign_bytes", "foreign_bytes", "bytes", "Memory of non-berth processes."},
      {"berth_gpu_headroom_bytes", "headroom_bytes", "bytes", "Memory that one more job may get."},
      {"berth_gpu_utilisation_percent", "utilisation_percent", "percent", "Time with a kernel."},
  });
  const auto labels_of = [](const Json& gpu) {
    return "gpu=" + quoted(std::to_string(gpu["index"].get<int>())) +
           ",name=" + quoted(gpu["name"].get<std::string>());
  };
  for (const Figure& figure : kFigures) {
    families.begin(figure.name, "gauge", figure.unit, figure.help);
    for (const Json& gpu : gpus) {
      const Json& value = gpu[figure.key];
      if (value.is_number()) families.sample(labels_of(gpu), value.dump());
    }
  }
  families.begin("berth_gpu_energy_joules", "counter", "joules",
                 "Energy taken since the driver was loaded.");
  for (const Json& gpu : gpus) {
    const Json& joules = gpu["energy_joules"];
    if (joules.is_number()) families.sample(labels_of(gpu), joules.dump());
  }
  families.begin("berth_gpu_healthy", "gauge", "", "1 if jobs may start there.");
  for (const Json& gpu : gpus) families.sample(labels_of(gpu), gpu["healthy"].get<bool>() ? 1 : 0);
  families.begin("berth_gpu_tenants", "gauge", "", "Jobs on it.");
  for (const Json& gpu : gpus) {
    families.sample(labels_of(gpu), static_cast<std::int64_t>(gpu["tenants"].size()));
  }
}

/// How long the oldest job waits that waits.
void add_wait(Families& families, const ClusterView& view) {
  std::int64_t seconds = 0;
  for (auto next = view.job_from(JobId(0)); next; next = view.job_from(JobId(next->value() + 1))) {
    const JobView job = view.job(*next);
    if (!is_waiting(job.state())) continue;
    seconds = micros(job.waited()) / 1'000'000;
    break;
  }
  families.begin("berth_oldest_wait_seconds", "gauge", "seconds",
                 "How long the first of the waiting jobs waits.");
  families.sample("", seconds);
}

std::string seconds_text_of(Duration time) {
  std::array<char, 32> text{};
  const auto count = static_cast<long long>(micros(time));
  std::snprintf(text.data(), text.size(), "%lld.%06lld", count / 1'000'000, count % 1'000'000);
  return text.data();
}

void add_turns(Families& families, const Loop::Turns& turns) {
  families.begin("berth_turn_work_longest_seconds", "gauge", "seconds",
                 "The longest turn of the engine's thread, in time on a processor.");
  families.sample("", seconds_text_of(turns.work));
  families.begin("berth_turn_blocked_longest_seconds", "gauge", "seconds",
                 "The longest time in a turn without a processor.");
  families.sample("", seconds_text_of(std::max(turns.blocked, Duration(0))));
  families.begin("berth_turns_long", "counter", "",
                 "Turns of the engine's thread of more than 20 ms on a processor.");
  families.sample("", turns.long_ones);
}

}  // namespace

std::string open_metrics(const MetricSources& sources, UserNames& names) {
  const auto& [view, gpus, policy, turns, is_unwritten] = sources;
  Families families;
  families.begin("berth_build", "info", "", "The version and the policy.");
  families.sample("version=" + quoted(BERTH_VERSION) + ",policy=" + quoted(policy), 1);
  add_jobs(families, view);
  add_wait(families, view);
  add_users(families, view, names);
  add_gpus(families, gpus["gpus"]);
  add_turns(families, turns);
  families.begin("berth_journal_unwritten", "gauge", "",
                 "1 while the journal cannot be written: nothing starts or ends.");
  families.sample("", is_unwritten ? 1 : 0);
  return std::move(families).take();
}

}  // namespace berth::daemon
