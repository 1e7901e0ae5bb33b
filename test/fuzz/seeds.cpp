// Writes the seeds that are bytes: `fuzz_seeds test/fuzz/corpus`. Those that are text are written
// by hand.
//
// Run it after a change of format, and commit what it wrote. The same build writes the same bytes.
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/bytes.hpp"
#include "engine/history.hpp"
#include "engine/journal.hpp"
#include "engine/sample.hpp"
#include "fuzz/snapshot_seed.hpp"
#include "journal/store.hpp"
#include "live/command.hpp"
#include "shim/attach.hpp"
#include "shim/order.hpp"

namespace {

using namespace berth;

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
}
void write(const std::filesystem::path& path, char first, const std::string& bytes) {
  write(path, first + bytes);
}

void write_journal(const std::filesystem::path& folder) {
  const auto inputs = test::one_of_each<Input>();
  const auto decisions = test::one_of_each<Decision>();
  write(folder / "entry", 0, encode({kStart + seconds(1), inputs, decisions}));
  write(folder / "empty", 0, encode(JournalEntry{}));
  write(folder / "inputs", 1, encode_inputs(inputs));
  write(folder / "decisions", 2, encode_decisions(decisions));
}

/// A past of every policy, long enough for a memory of it.
void write_snapshots(const std::filesystem::path& folder) {
  for (const PolicyEntry& entry : policies()) {
    test::History history(entry.name, 1);
    history.go_on(45);
    write(folder / test::seed_file(entry.name),
          test::seed_of_policy(entry.name) + history.engine().save());
  }
  test::History none("fifo", 1);
  write(folder / "empty", test::seed_of_policy("fifo") + none.engine().save());
}

shim::Order some_order() {
  return {.job = JobId(42),
          .attempt = Attempt(1),
          .arguments = {"python", "train.py", "--lr=0.1"},
          .environment = {"PATH=/usr/bin:/bin", "A="},
          .directory = "/data",
          .user = 1000,
          .group = 100,
          .groups = {100, 27},
          .log_cap = 1 << 20,
          .cgroup = "/sys/fs/cgroup/berth/berth-42.1",
          .attach = shim::Attach{.socket = "/run/user/1000/berth-run", .terminal = true}};
}

/// Its fuzzer takes two bytes first: the reader, and how a stream is cut.
void write_shim(const std::filesystem::path& folder) {
  const shim::Exit exit{.kind = shim::Exit::Kind::Signal, .number = 9, .at = kStart + seconds(7)};
  const auto put = [&](const char* name, char reader, const std::string& bytes) {
    write(folder / name, reader, std::string(1, 3) + bytes);
  };
  const shim::Process process{.pid = 77, .start = 123456};
  put("record", 0,
      shim::header_lines(JobId(42), Attempt(1), 1000) + shim::shim_line({.pid = 76, .start = 9}) +
          shim::go_line(process) + shim::exit_line(exit));
  put("order", 1, encode(some_order()));
  shim::Order by_hand = some_order();
  by_hand.adopted = process;
  put("order-to-adopt", 1, encode(by_hand));
  put("started", 2, encode(shim::Event(shim::Started{process})));
  put("ended", 2, encode(shim::Event(shim::Ended{.exit = exit, .note = "log capped at 1 GiB"})));
  put("frames", 3,
      shim::encode_frame(shim::FrameKind::Input, "some words\n") +
          shim::encode_frame(shim::FrameKind::Resize, std::string("\x18\0\x50\0", 4)) +
          shim::encode_frame(shim::FrameKind::InputEnd, ""));
}

std::string one_entry(std::int64_t second, const std::vector<Input>& inputs) {
  ByteWriter out;
  out.text(encode({kStart + hours(24) + seconds(second), inputs, {}}));
  return out.take();
}

/// A small journal as one file of small pages: its log moved in, nothing left beside it.
std::string small_database() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string path = folder / "berth-seed.db";
  const std::string packed = folder / "berth-seed-packed.db";
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  std::filesystem::remove(packed);
  {
    test::History history("fifo-skip", 1);
    auto store = std::move(*journal::Store::open(path));
    (void)store.begin();
    (void)store.add_snapshot({.after = 0,
                              .policy = "fifo-skip",
                              .place = "first-fit",
                              .build = "0.1.0",
                              .state = history.engine().save()});
    const auto inputs = history.next();
    (void)store.add_inputs(1, history.now(), encode_inputs(inputs));
    (void)store.add_decisions(1, encode_decisions(history.step(inputs).decisions));
    (void)store.add_job({.job = JobId(1), .spec = {}, .name = "a", .command = "true"});
    (void)store.add_attempt({.job = JobId(1), .attempt = Attempt(1), .gpus = {GpuId(0)}});
    (void)store.set_report(JobId(1), {.key = "loss", .value = 5});
    (void)store.end_job(JobId(1), {.at = kStart + seconds(9)});
    (void)store.add_blob(live::encode_environment({"A=b"}));
    (void)store.commit();
  }
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  const std::string sql = "PRAGMA page_size = 512; VACUUM INTO '" + packed + "'";
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    std::fprintf(stderr, "%s\n", sqlite3_errmsg(db));
  }
  sqlite3_close(db);
  std::ifstream file(packed, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_stored(const std::filesystem::path& folder) {
  const shim::Order order = some_order();
  write(folder / "command", 0,
        encode(live::Command{.arguments = order.arguments,
                             .directory = order.directory,
                             .owner = {.user = order.user, .group = order.group, .groups = {27}},
                             .environment = BlobId(7),
                             .attach = order.attach}));
  write(folder / "environment", 1, live::encode_environment(order.environment));
  std::string entries;
  std::int64_t second = 0;
  for (const Input& input : test::one_of_each<Input>()) entries += one_entry(++second, {input});
  write(folder / "entries", 2, entries);
  write(folder / "file", 3, small_database());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path corpus(arguments[1]);
  write_journal(corpus / "journal");
  write_shim(corpus / "shim");
  write_stored(corpus / "stored");
  write_snapshots(corpus / "snapshot");
  return 0;
}
