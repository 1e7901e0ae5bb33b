#include "golden/scenario.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/text/words.hpp"
#include "trace/trace.hpp"

namespace berth::golden {

namespace {

constexpr std::string_view kLine = "----\n";

struct Unit {
  std::string_view name;
  std::int64_t size;
};

/// A whole number followed by one of the units.
std::optional<std::int64_t> amount(std::string_view text, std::span<const Unit> units) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const auto found = std::ranges::find(units, unit, &Unit::name);
  if (found == units.end()) return std::nullopt;
  return value * found->size;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  constexpr Unit units[] = {{"", 1}};
  return amount(text, units);
}
std::optional<Duration> duration_of(std::string_view text) {
  constexpr Unit units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}};
  const auto count = amount(text, units);
  if (!count) return std::nullopt;
  return seconds(*count);
}
std::optional<Bytes> bytes_of(std::string_view text) {
  constexpr Unit units[] = {{"MiB", 1LL << 20}, {"GiB", 1LL << 30}};
  const auto count = amount(text, units);
  if (!count) return std::nullopt;
  return Bytes(*count);
}

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Expected<Scenario> read(std::string_view text) {
    const std::size_t line = text.find(kLine);
    if (line == std::string_view::npos) return fail(ErrorCode::BadData, file_ + ": no line `----`");
    scenario_.question = text.substr(0, line);
    scenario_.expected = text.substr(line + kLine.size());
    for (std::string_view rest = scenario_.question; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      ++line_;
      read_line(words_of(rest.substr(0, end)));
      if (error_) return std::unexpected(*error_);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    finish();
    if (error_) return std::unexpected(*error_);
    return std::move(scenario_);
  }

 private:
  using Words = std::vector<std::string_view>;

  void object(std::string_view word, std::string_view why) {
    if (error_) return;
    error_ = Error{ErrorCode::BadData, file_ + ":" + std::to_string(line_) + ": '" +
                                           std::string(word) + "' " + std::string(why)};
  }
  /// The value, or an objection to the word.
  template <class T>
  T must(std::optional<T> value, std::string_view word, std::string_view what) {
    if (!value) object(word, "is not " + std::string(what));
    return value.value_or(T());
  }
  Duration time(std::string_view word) { return must(duration_of(word), word, "a time"); }
  Bytes memory(std::string_view word) { return must(bytes_of(word), word, "MiB or GiB"); }
  std::int64_t number(std::string_view word) { return must(number_of(word), word, "a number"); }

  void read_line(const Words& words) {
    if (words.empty()) return;
    using Method = void (Reader::*)(const Words&);
    static const std::map<std::string_view, Method> methods = {
        {"cluster", &Reader::read_cluster}, {"policy", &Reader::read_policy},
        {"place", &Reader::read_place},     {"settings", &Reader::read_settings},
        {"job", &Reader::read_job},         {"at", &Reader::read_happening},
        {"until", &Reader::read_until},     {"service", &Reader::read_service},
        {"speed", &Reader::read_speed},     {"scale", &Reader::read_scale},
        {"beside", &Reader::read_beside},   {"stages", &Reader::read_stages}};
    const auto found = methods.find(words[0]);
    if (found == methods.end()) return object(words[0], "starts no line");
    if (words.size() < 2) return object(words[0], "needs more words");
    (this->*found->second)(words);
  }

  /// Calls take(key, value) for the words from `first` on; a word without = has an empty value.
  template <class Take>
  void options(const Words& words, std::size_t first, Take take) {
    for (std::size_t i = first; i < words.size() && !error_; ++i) {
      const std::size_t equals = words[i].find('=');
      const bool has_value = equals != std::string_view::npos;
      const bool known =
          take(words[i].substr(0, equals), has_value ? words[i].substr(equals + 1) : "");
      if (!known) object(words[i], "is not known here");
    }
  }

  /// `0-1x4+2-3`: pairs of GPUs of a node, and the number of NVLinks between them.
  std::vector<Link> links(std::string_view text) {
    std::vector<Link> found;
    while (!text.empty()) {
      const std::string_view pair = text.substr(0, text.find('+'));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      const std::size_t dash = pair.find('-');
      const std::size_t times = pair.find('x');
      if (dash == std::string_view::npos) return object(pair, "is no pair of GPUs"), found;
      const auto part = [&](std::size_t from, std::size_t end) {
        return static_cast<std::uint32_t>(number(pair.substr(from, end - from)));
      };
      found.push_back(
          {.one = part(0, dash),
           .other = part(dash + 1, std::min(times, pair.size())),
           .nearness = std::nullopt,
           .nvlinks = times == std::string_view::npos ? 1 : part(times + 1, pair.size())});
    }
    return found;
  }

  void read_cluster(const Words& words) {
    const auto shape = trace::parse_cluster(words[1]);
    if (!shape) return object(words[1], "is not NODESxGPUS or SWITCHESxNODESxGPUS");
    NodeShape node{.gpus = shape->node(NodeId(0)).gpus, .vram = Bytes(std::int64_t{24} << 30)};
    options(words, 2, [&](std::string_view key, std::string_view value) {
      if (key == "vram") return node.vram = memory(value), true;
      if (key == "context") return node.context = memory(value), true;
      if (key == "slots") return node.slots = static_cast<std::uint16_t>(number(value)), true;
      if (key == "cpu") return node.cpu = CpuMilli(1000 * number(value)), true;
      if (key == "host") return node.host = memory(value), true;
      if (key == "links") return node.links = links(value), true;
      if (key == "type") return node.type = value, true;
      return false;
    });
    for (std::uint32_t s = 0; s < shape->switches(); ++s) {
      scenario_.cluster.add_switch();
      for (std::size_t n = 0; n < shape->nodes_of(SwitchId(s)).size(); ++n) {
        node.name = "n" + std::to_string(scenario_.cluster.nodes().size());
        scenario_.cluster.add_node(node);
      }
    }
  }

  void read_policy(const Words& words) { scenario_.policy = words[1]; }
  void read_place(const Words& words) { scenario_.place = words[1]; }
  void read_service(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) scenario_.service.push_back(number(words[i]));
  }
  void read_speed(const Words& words) {
    if (words.size() != 4) return object(words[0], "needs a model, a type and a speed");
    const Rate rate(number(words[3]) * Rate::kWhole / 100);
    scenario_.speeds.add_type(std::string(words[1]), 0, std::string(words[2]), rate);
  }
  void read_beside(const Words& words) {
    if (words.size() < 4 || words.size() > 5) return object(words[0], "needs two models, a speed");
    const Rate rate(number(words[3]) * Rate::kWhole / 100);
    std::string other(words[2]);
    if (words.size() == 5) other = Speeds::neighbour_on(other, std::string(words[4]));
    scenario_.speeds.add_pair(std::string(words[1]), 0, other, rate);
  }
  void read_stages(const Words& words) {
    if (words.size() != 6) return object(words[0], "needs a model, its iteration, three stages");
    const auto time = [&](std::size_t word) { return seconds(number(words[word])); };
    scenario_.speeds.set_iteration(std::string(words[1]), 0,
                                   {.alone = time(2), .stages = {time(3), time(4), time(5)}});
  }
  void read_scale(const Words& words) {
    constexpr std::int64_t kStepAtFullSpeed = 1'000'000'000;
    for (std::size_t gpus = 1; gpus + 1 < words.size(); ++gpus) {
      const std::int64_t percent = number(words[gpus + 1]);
      if (percent <= 0) return object(words[gpus + 1], "is no speed");
      scenario_.speeds.scaling().add(std::string(words[1]), static_cast<std::int64_t>(gpus), 0,
                                     kStepAtFullSpeed * 100 / percent);
    }
  }
  void read_until(const Words& words) { scenario_.until = kStart + time(words[1]); }

  AdmissionMode admission(std::string_view word) {
    const auto found = from_word<AdmissionMode>(word);
    if (!found) object(word, "is not an admission");
    return found.value_or(AdmissionMode::Guarantee);
  }

  void read_settings(const Words& words) {
    Settings& settings = scenario_.settings;
    options(words, 1, [&](std::string_view key, std::string_view value) {
      if (key == "guard") return settings.admission.guard_floor = memory(value), true;
      if (key == "admission") return settings.admission.mode = admission(value), true;
      if (key == "user-gpus") return settings.limits.gpus = GpuCount(number(value)), true;
      if (key == "user-jobs") {
        return settings.limits.jobs = static_cast<std::int32_t>(number(value)), true;
      }
      if (key == "half-life") return settings.service_half_life = time(value), true;
      return false;
    });
  }

  DurationClass duration_class(std::string_view word) {
    const auto found = from_word<DurationClass>(word);
    if (!found) object(word, "is not a class");
    return found.value_or(DurationClass::Medium);
  }

  void read_job(const Words& words) {
    GoldenJob job{
        .name = std::string(words[1]), .submit = kStart, .run = {}, .spec = {}, .program = {}};
    job.spec.user = UserId(1);
    bool estimated = true;
    GpuRequest& gpu = job.spec.request.gpu;
    options(words, 2, [&](std::string_view key, std::string_view value) {
      if (key == "program") {
        return job.program = Fingerprint(static_cast<std::uint64_t>(number(value))), true;
      }
      if (key == "at") return job.submit = kStart + time(value), true;
      if (key == "run") return job.run = time(value), true;
      if (key == "model") return job.spec.model = std::string(value), true;
      if (key == "gpus") return gpu.count = GpuCount(number(value)), true;
      if (key == "min") return gpu.min = GpuCount(number(value)), true;
      if (key == "max") return gpu.max = GpuCount(number(value)), true;
      if (key == "saves") return job.spec.conditions.edit().on_preempt.signal = 10, true;
      if (key == "vram") return gpu.vram = memory(value), true;
      if (key == "processes") return gpu.processes = static_cast<std::int32_t>(number(value)), true;
      if (key == "share") return gpu.milli = GpuMilli(number(value)), true;
      if (key == "alone") return gpu.sharing = Sharing::Alone, true;
      if (key == "now") return gpu.sharing = Sharing::AtOnce, true;
      if (key == "user") return job.spec.user = UserId(user(value)), true;
      if (key == "priority") {
        return job.spec.priority = static_cast<std::int32_t>(number(value)), true;
      }
      if (key == "deadline") return job.spec.deadline = kStart + time(value), true;
      if (key == "limit") return job.spec.time_limit = time(value), true;
      if (key == "class") return job.spec.duration_class = duration_class(value), true;
      if (key == "cpu") return job.spec.request.cpu = CpuMilli(1000 * number(value)), true;
      if (key == "host") return job.spec.request.host = memory(value), true;
      if (key != "estimate") return false;
      estimated = value != "none";
      if (estimated) job.spec.estimate = time(value);
      return true;
    });
    if (estimated && job.spec.estimate == kForever) job.spec.estimate = job.run;
    if (job.run <= Duration::zero()) object(words[1], "needs run= above zero");
    scenario_.jobs.push_back(std::move(job));
  }

  std::uint32_t user(std::string_view word) { return static_cast<std::uint32_t>(number(word)); }

  JobId job_named(std::string_view name) {
    const auto found = std::ranges::find(scenario_.jobs, name, &GoldenJob::name);
    if (found == scenario_.jobs.end()) object(name, "is no job");
    return JobId(static_cast<JobId::rep>(found - scenario_.jobs.begin() + 1));
  }

  GpuId gpu_named(std::string_view word) {
    const std::size_t colon = word.find(':');
    const bool shaped = word.starts_with('n') && colon != std::string_view::npos;
    const auto node = shaped ? number_of(word.substr(1, colon - 1)) : std::nullopt;
    const auto index = shaped ? number_of(word.substr(colon + 1)) : std::nullopt;
    const Cluster& cluster = scenario_.cluster;
    const bool exists = node && index && *node < std::ssize(cluster.nodes()) &&
                        *index < cluster.node(NodeId(static_cast<std::uint32_t>(*node))).gpus;
    if (!exists) object(word, "is no GPU of this cluster");
    if (!exists) return GpuId(0);
    const GpuId first = cluster.node(NodeId(static_cast<std::uint32_t>(*node))).first_gpu;
    return GpuId(first.value() + static_cast<std::uint32_t>(*index));
  }

  void read_happening(const Words& words) {
    if (words.size() < 4) return object(words[0], "needs a time, a verb and a name");
    scenario_.happenings.push_back({kStart + time(words[1]), Ticked{}});
    happenings_.push_back({line_, words});
  }

  Input reserved(GpuId gpu, const Words& words) {
    const bool is_whole =
        words.size() == 10 && words[4] == "for" && words[6] == "from" && words[8] == "until";
    if (!is_whole) object("reserve", "needs: GPU for USER from TIME until TIME");
    if (!is_whole) return Ticked{};
    return Reserved{.id = ReservationId(++reservations_),
                    .reservation = {.gpus = {gpu},
                                    .users = {UserId(user(words[5]))},
                                    .from = kStart + time(words[7]),
                                    .until = kStart + time(words[9])}};
  }

  Input happening(const Words& words) {
    const std::string_view verb = words[2];
    if (verb == "cancel") return CancelAsked{job_named(words[3])};
    if (verb == "hold") return HoldAsked{job_named(words[3])};
    if (verb == "release") return ReleaseAsked{job_named(words[3])};
    const GpuId gpu = gpu_named(words[3]);
    if (verb == "reserve") return reserved(gpu, words);
    const std::string_view to = words.size() > 4 ? words[4] : "";
    if (verb == "foreign") {
      const Bytes bytes = memory(to);
      return Measured{.gpu = gpu, .foreign = bytes, .used = bytes, .tenants = {}};
    }
    if (verb == "busy") {
      return Measured{
          .gpu = gpu, .tenants = {}, .utilisation = static_cast<std::int16_t>(number(to))};
    }
    if (verb != "gpu" || (to != "up" && to != "down")) object(verb, "is not known here");
    return GpuHealth{gpu, to == "up"};
  }

  /// What needs every job and the whole cluster.
  void finish() {
    std::ranges::stable_sort(scenario_.jobs, {}, &GoldenJob::submit);
    for (std::size_t i = 0; i < happenings_.size(); ++i) {
      line_ = happenings_[i].line;
      scenario_.happenings[i].input = happening(happenings_[i].words);
    }
    std::ranges::stable_sort(scenario_.happenings, {}, &Happening::at);
    if (scenario_.cluster.nodes().empty()) object("cluster", "line is missing");
    if (scenario_.policy.empty()) object("policy", "line is missing");
  }

  struct Later {
    std::size_t line;
    Words words;
  };
  std::string file_;
  std::size_t line_ = 0;
  Scenario scenario_;
  std::vector<Later> happenings_;
  std::uint32_t reservations_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Expected<Scenario> read_scenario(std::string_view text, std::string_view file) {
  return Reader(file).read(text);
}

}  // namespace berth::golden
