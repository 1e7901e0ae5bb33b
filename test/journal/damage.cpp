#include "journal/damage.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/rng.hpp"
#include "journal/store.hpp"
#include "journal/support.hpp"
#include "shim/record.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {

namespace {

namespace fs = std::filesystem;
using namespace berth::journal;

constexpr std::int64_t kBefore = 90;  ///< Jobs of a daemon that ended as it should.
constexpr std::int64_t kAll = 130;    ///< With those of the one that was killed.
constexpr std::array kEnds = {"", "-wal", "-shm", "-mark"};

std::string noise(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.between(0, 255));
  return bytes;
}

std::string state_text() { return noise(30'000, 1); }

/// Job `number` as a daemon writes it: every third one is still waiting, the others have ended.
void live(Store& store, std::int64_t number) {
  const auto seed = static_cast<std::uint64_t>(number);
  const JobId job(seed);
  in_transaction(store, [&] {
    const BlobId blob = need(store.add_blob(noise(200 + seed * 37 % 6000, seed)));
    need(store.add_inputs(number, instant_from_micros(number), noise(100, seed + 1)));
    need(store.add_job(
        {.job = job,
         .spec = {.user = UserId(1000 + static_cast<std::uint32_t>(seed % 3)), .command = blob},
         .submitted = instant_from_micros(number),
         .name = "name " + std::to_string(number),
         .command = "train --seed " + std::to_string(number)}));
  });
  in_transaction(store, [&] {
    need(store.add_decisions(number, noise(20, seed + 2)));
    if (number % 3 == 0) return;
    need(store.add_attempt({.job = job, .attempt = Attempt(1), .gpus = {GpuId(1), GpuId(2)}}));
    need(store.set_started(job, Attempt(1), instant_from_micros(number + 1)));
    need(store.set_report(job, {.key = "loss", .value = number}));
    const End end{.at = instant_from_micros(number + 2), .code = 3, .note = "it ended"};
    need(store.end_attempt(job, Attempt(1), end));
    need(store.end_job(job, end));
  });
  need(store.sync());
}

using Files = std::map<std::string, std::string>;  ///< By what follows `journal.db`.

Files read_files(const std::string& path) {
  Files files;
  for (const char* const end : kEnds) {
    if (fs::exists(path + end)) files[end] = read_file(path + end);
  }
  return files;
}

/// Everything that a journal can be asked, by what it is about; errors are those of one thing.
struct Shown {
  std::map<std::string, std::string> good;
  std::map<std::string, std::string> bad;
};

std::string text_of(const std::optional<End>& end) {
  if (!end) return "no end";
  return std::to_string(micros(end->at)) + " " + std::to_string(static_cast<int>(end->outcome)) +
         " " + std::to_string(end->code) + " " + end->note;
}

std::string text_of(const std::vector<GpuId>& gpus) {
  std::string text;
  for (const GpuId gpu : gpus) text += " " + std::to_string(gpu.value());
  return text;
}

void show_job(const Store& store, JobId id, Shown& shown) {
  const std::string name = "job " + std::to_string(id.value());
  const auto found = store.job(id);
  if (!found || !*found || (*found)->is_damaged) {
    shown.bad[name] = !found ? found.error().message : *found ? "damaged" : "missing";
    return;
  }
  const JobRow& job = **found;
  shown.good[name] = job.name + "|" + job.command + "|" + std::to_string(micros(job.submitted)) +
                     "|" + std::to_string(micros(job.started)) + "|" + text_of(job.gpus) + "|" +
                     text_of(job.end) + "|" + std::to_string(job.spec.user.value()) + "|" +
                     std::to_string(job.spec.command.value());
  const auto blob = store.blob(job.spec.command);
  (blob ? shown.good : shown.bad)[name + " blob"] = blob ? *blob : blob.error().message;
  const auto attempts = store.attempts(id);
  std::string text;
  bool damaged = !attempts;
  for (const AttemptRow& row : attempts.value_or(std::vector<AttemptRow>{})) {
    damaged = damaged || row.is_damaged;
    text += std::to_string(row.attempt.value()) + " " + std::to_string(micros(row.granted)) + " " +
            std::to_string(micros(row.started)) + text_of(row.gpus) + text_of(row.end) + "\n";
  }
  (damaged ? shown.bad : shown.good)[name + " attempts"] = damaged ? "damaged" : text;
  const auto reports = store.reports(id);
  text.clear();
  damaged = !reports;
  for (const ReportRow& row : reports.value_or(std::vector<ReportRow>{})) {
    damaged = damaged || row.is_damaged;
    text += row.key + " " + std::to_string(row.value) + " " + std::to_string(micros(row.at)) + "\n";
  }
  (damaged ? shown.bad : shown.good)[name + " reports"] = damaged ? "damaged" : text;
}

/// A list by its numbers; those of damaged rows are named in it, and are not a part of it.
void show_list(const Store& store, const PageQuery& query, const std::string& name, Shown& shown) {
  const auto rows = store.history(query);
  if (!rows) {
    shown.bad[name] = rows.error().message;
    return;
  }
  std::string text;
  for (const JobRow& row : *rows) text += " " + std::to_string(row.job.value());
  shown.good[name] = text;
}

Shown show(const Store& store, const Recovered& recovered) {
  Shown shown;
  shown.good["snapshot"] = recovered.snapshot ? recovered.snapshot->state : "none";
  for (const Entry& entry : recovered.entries) {
    shown.good["entry " + std::to_string(entry.number)] =
        std::to_string(micros(entry.now)) + entry.inputs + "|" + entry.decisions.value_or("none");
  }
  for (std::int64_t id = 1; id <= kAll; ++id)
    show_job(store, JobId(static_cast<std::uint64_t>(id)), shown);
  show_list(store, {.most = 1000}, "list", shown);
  show_list(store, {.after = JobId(0), .most = 1000}, "list from old to new", shown);
  show_list(store, {.user = UserId(1001), .most = 1000}, "list of a user", shown);
  shown.good["last job"] = std::to_string(store.last_number().value());
  return shown;
}

// ---- Damage
// --------------------------------------------------------------------------------------

std::size_t place(Rng& rng, std::size_t size) {
  return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(size) - 1));
}

void turn_bit(std::string& bytes, std::size_t at, Rng& rng) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.between(0, 7)));
}

void turn_byte(std::string& bytes, std::size_t at, Rng& rng) {
  bytes[at] = static_cast<char>(bytes[at] ^ rng.between(1, 255));
}

void put_zeros(std::string& bytes, std::size_t at, Rng& rng) {
  const auto size = static_cast<std::size_t>(std::int64_t{1} << rng.between(1, 13));
  for (std::size_t i = at; i < std::min(at + size, bytes.size()); ++i) bytes[i] = '\0';
}

void cut(std::string& bytes, std::size_t at, Rng&) { bytes.resize(at); }

void swap_blocks(std::string& bytes, std::size_t at, Rng& rng) {
  const std::size_t size = rng.one_in(2) ? 4096 : 512;
  const std::size_t blocks = bytes.size() / size;
  if (blocks < 2) return cut(bytes, at, rng);
  const std::size_t one = at / size % blocks;
  const std::size_t other = (one + 1 + place(rng, blocks - 1)) % blocks;
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(one * size),
                   bytes.begin() + static_cast<std::ptrdiff_t>((one + 1) * size),
                   bytes.begin() + static_cast<std::ptrdiff_t>(other * size));
}

struct Kind {
  const char* name;
  void (*apply)(std::string& bytes, std::size_t at, Rng& rng);
};
constexpr auto kKinds = std::to_array<Kind>({{"a turned bit", turn_bit},
                                             {"a changed byte", turn_byte},
                                             {"a run of zeros", put_zeros},
                                             {"cut off", cut},
                                             {"blocks swapped", swap_blocks}});
constexpr auto kMissing = "missing";
constexpr auto kOlder = "an older copy";

}  // namespace

struct Campaign::State {
  Files files;
  Files older;
  Shown whole;

  Damage damage_journal(Rng& rng, std::string target) const;
  static Damage damage_attempt(Rng& rng);
  Verdict judge(const Files& damaged, std::string& words) const;
  Verdict compare(const Store& store, const Recovered& recovered, std::string& words) const;
};

Campaign::Campaign() : state_(std::make_unique<State>()) {
  const ScratchFolder scratch;
  const std::string path = scratch / "journal.db";
  in_child([&] {
    for (const std::int64_t from : {std::int64_t{1}, kBefore / 2 + 1}) {
      Store store = need_store(path);
      if (from == 1) {
        in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0, state_text()))); });
      }
      for (std::int64_t n = from; n < from + kBefore / 2; ++n) live(store, n);
      store = need_store(scratch / "other.db");  // ends the one before
      if (from == 1) fs::copy_file(path, path + ".older");
    }
    Store store = need_store(path);
    for (std::int64_t n = kBefore + 1; n <= kAll; ++n) {
      live(store, n);
      if (n != (kBefore + kAll) / 2) continue;
      for (const char* const end : {"-wal", "-shm", "-mark"}) {
        fs::copy_file(path + end, path + end + ".older");
      }
    }
    _exit(0);
  });
  state_->files = read_files(path);
  for (const char* const end : kEnds) state_->older[end] = read_file(path + end + ".older");
  const Store store = need_store(path);
  state_->whole = show(store, need(store.recover()));
  EXPECT_TRUE(state_->whole.bad.empty());
}

Campaign::~Campaign() = default;

/// What is shown must be as it was; what is not must be named by its own error or at the start.
Verdict Campaign::State::compare(const Store& store, const Recovered& recovered,
                                 std::string& words) const {
  const Shown shown = show(store, recovered);
  bool told = !store.notes().empty();
  for (const std::string& note : store.notes()) words += note + "; ";
  for (const auto& [name, text] : shown.bad) {
    told = true;
    words += name + ": " + text + "; ";
  }
  for (const auto& [name, text] : whole.good) {
    const auto found = shown.good.find(name);
    if (found != shown.good.end() && found->second == text) continue;
    const std::string job = name.substr(0, name.find(' ', 4));
    const bool named = shown.bad.contains(name) || shown.bad.contains(job);
    // A row whose end is damaged may leave or enter the lists of those that have ended; the start
    // names it.
    const bool list = name.starts_with("list") && words.contains("its row is damaged");
    if (named || list) continue;
    words = name + " is not what it was: " + words;
    return Verdict::Wrong;
  }
  return told ? Verdict::Told : Verdict::Same;
}

Verdict Campaign::State::judge(const Files& damaged, std::string& words) const {
  const ScratchFolder scratch;
  const std::string path = scratch / "journal.db";
  for (const auto& [end, bytes] : damaged) scratch.write("journal.db" + end, bytes);
  const auto store = Store::open(path);
  const auto recovered = store ? store->recover() : std::unexpected(store.error());
  if (recovered) return compare(*store, *recovered, words);
  words = recovered.error().message;
  if (!words.starts_with(path)) return Verdict::Wrong;
  words = words.substr(scratch.path().string().size() + 1);
  if (store) return Verdict::Refused;
  for (const char* const end : {"", "-wal", "-mark"}) {
    const auto before = damaged.find(end);
    const bool same = before == damaged.end()
                          ? std::string_view(end) != "" || !fs::exists(path)
                          : fs::exists(path + end) && read_file(path + end) == before->second;
    if (same) continue;
    words = "changed though refused: journal.db" + std::string(end) + ": " + words;
    return Verdict::Wrong;
  }
  return Verdict::Refused;
}

Damage Campaign::State::damage_journal(Rng& rng, std::string target) const {
  Damage done{.file = "journal.db" + target, .kind = {}, .verdict = {}, .words = {}};
  std::size_t first = 0;
  std::size_t size = 0;
  if (target == "snapshot") {  // a part of it that lies on one page
    done.file = target;
    target = "";
    const std::string& bytes = files.at("");
    const std::string state = state_text();
    while (size == 0) {
      const std::size_t found = bytes.find(state.substr(place(rng, state.size() - 64), 64));
      if (found != std::string::npos) first = found, size = 64;
    }
  }
  Files damaged = files;
  std::string& bytes = damaged.at(target);
  if (size == 0) size = bytes.size();
  const auto choice = static_cast<std::size_t>(
      rng.between(0, std::ssize(kKinds) - (done.file == "snapshot" ? 2 : -1)));
  if (choice < kKinds.size()) {
    done.kind = kKinds[choice].name;
    kKinds[choice].apply(bytes, first + place(rng, size), rng);
  } else if (choice == kKinds.size()) {
    done.kind = kMissing;
    damaged.erase(target);
  } else {
    done.kind = kOlder;
    bytes = older.at(target);
  }
  done.verdict = judge(damaged, done.words);
  return done;
}

/// Of an attempt that has ended. A reader takes a file whose last lines are gone for one of a shim
/// that died, which is said of the job.
Damage Campaign::State::damage_attempt(Rng& rng) {
  const std::vector<std::string> lines = {
      shim::header_lines(JobId(42), Attempt(1), 1000), shim::shim_line({.pid = 4711, .start = 99}),
      shim::go_line({.pid = 4712, .start = 101}),
      shim::exit_line({.kind = shim::Exit::Kind::Code, .number = 7, .at = kStart})};
  std::string bytes;
  for (const std::string& line : lines) bytes += line;
  const shim::Record whole = need(shim::parse_record(bytes));
  const auto choice = static_cast<std::size_t>(rng.between(0, std::ssize(kKinds) - 2));
  kKinds[choice].apply(bytes, place(rng, bytes.size()), rng);
  Damage done{.file = "an attempt file", .kind = kKinds[choice].name, .verdict = {}, .words = {}};
  const auto read = shim::parse_record(bytes);
  if (!read) {
    done.verdict = Verdict::Refused;
    done.words = read.error().message;
    return done;
  }
  shim::Record shorter = whole;
  done.verdict = *read == whole ? Verdict::Same : Verdict::Wrong;
  for (const auto drop :
       {+[](shim::Record& r) { r.exit.reset(); }, +[](shim::Record& r) { r.go.reset(); },
        +[](shim::Record& r) { r.shim.reset(); }}) {
    drop(shorter);
    if (*read == shorter) done.verdict = Verdict::Told;
  }
  done.words = bytes;
  return done;
}

Damage Campaign::run(std::uint64_t seed) {
  Rng rng(seed);
  constexpr std::array kTargets = {"", "", "", "-wal", "-wal", "-wal", "-shm", "-mark", "snapshot"};
  const auto choice = static_cast<std::size_t>(rng.between(0, std::ssize(kTargets)));
  if (choice == kTargets.size()) return State::damage_attempt(rng);
  return state_->damage_journal(rng, kTargets[choice]);
}

std::string DamageTable::text() const {
  std::string text =
      "| file | damage | same | recovered and said | refused and said | wrong |\n"
      "|---|---|---:|---:|---:|---:|\n";
  std::map<Verdict, int> all;
  const auto row = [&](const std::string& file, const std::string& kind, const auto& counts) {
    text += "| " + file + " | " + kind + " |";
    for (const Verdict verdict : {Verdict::Same, Verdict::Told, Verdict::Refused, Verdict::Wrong}) {
      const auto found = counts.find(verdict);
      text += " " + std::to_string(found == counts.end() ? 0 : found->second) + " |";
    }
    text += "\n";
  };
  for (const auto& [what, counts] : counts_) {
    row(what.first, what.second, counts);
    for (const auto& [verdict, count] : counts) all[verdict] += count;
  }
  row("all", "", all);
  return text;
}

}  // namespace berth::test
