#include "daemon/suspend/suspend_errand.hpp"

#include <sstream>

namespace berth::daemon {

namespace {

Holder holder_of(std::istringstream& words) {
  Holder holder;
  std::int64_t bytes = 0;
  words >> holder.process.pid >> holder.process.start >> bytes;
  if (!words) return {};
  holder.bytes = Bytes(bytes);
  for (std::string gpu; words >> gpu;) holder.gpus.push_back(gpu);
  return holder;
}

std::string rest_of(std::istringstream& words) {
  std::string rest;
  words.get();
  std::getline(words, rest);
  return rest;
}

}  // namespace

std::string encode(const Errand& errand) {
  std::ostringstream text;
  text << "errand " << static_cast<int>(errand.what) << ' ' << errand.job.value() << ' '
       << errand.shim << ' ' << micros(errand.lock_timeout) << '\n';
  text << "cuda " << errand.cuda << "\nnvml " << errand.nvml << '\n';
  if (!errand.cgroup.empty()) text << "cgroup " << errand.cgroup << '\n';
  for (const std::string& gpu : errand.gpus) text << "gpu " << gpu << '\n';
  for (const Holder& holder : errand.holders) {
    text << "holder " << holder.process.pid << ' ' << holder.process.start << ' '
         << holder.bytes.raw();
    for (const std::string& gpu : holder.gpus) text << ' ' << gpu;
    text << '\n';
  }
  text << '\n';
  return text.str();
}

Expected<Errand> decode_errand(std::string_view text) {
  std::istringstream lines{std::string(text)};
  Errand errand;
  bool has_head = false;
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "errand") {
      int what = -1;
      JobId::rep job = 0;
      std::int64_t timeout = 0;
      has_head = (words >> what >> job >> errand.shim >> timeout) && what >= 0 && what <= 2;
      if (!has_head) break;
      errand.what = static_cast<Errand::What>(what);
      errand.job = JobId(job);
      errand.lock_timeout = Duration(timeout);
    } else if (key == "cuda") {
      errand.cuda = rest_of(words);
    } else if (key == "nvml") {
      errand.nvml = rest_of(words);
    } else if (key == "cgroup") {
      errand.cgroup = rest_of(words);
    } else if (key == "gpu") {
      errand.gpus.push_back(rest_of(words));
    } else if (key == "holder") {
      errand.holders.push_back(holder_of(words));
      if (errand.holders.back().process.pid <= 0) has_head = false;
    } else {
      has_head = false;
    }
    if (!has_head) break;
  }
  if (!has_head) return fail(ErrorCode::BadData, "a suspend helper got no errand");
  return errand;
}

Told decode_told(std::string_view text) {
  std::istringstream lines{std::string(text.substr(0, text.rfind('\n') + 1))};
  Told told;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "version") {
      int version = 0;
      if (words >> version) told.version = version;
    } else if (key == "holds") {
      Holder holder = holder_of(words);
      if (holder.process.pid > 0) told.holders.push_back(std::move(holder));
    } else if (key == "asks") {
      told.asks = true;
    } else if (key == "done") {
      told.is_done = true;
    } else if (key == "did") {
      told.has_begun = true;
      std::string what;
      pid_t pid = 0;
      if (words >> what >> pid && what == "restored") told.restored.push_back(pid);
    } else if (key == "failed") {
      std::int64_t wait = 0;
      words >> wait;
      told.again = wait < 0 ? kForever : seconds(wait);
      told.error = rest_of(words);
    }
  }
  return told;
}

}  // namespace berth::daemon
