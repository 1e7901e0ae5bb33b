// Goal: nothing that is stored makes the daemon that reads it crash, hang or hoard: not what a job
// runs, not a journal whose every checksum is right, not a file that is half a database.
// Method: the first byte chooses a command, an environment, the entries of a journal or its whole
// file; the rest is its bytes. Entries go through an engine, which must stay sound; a file is
// recovered, listed and verified.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/base/assert.hpp"
#include "core/base/bytes.hpp"
#include "engine/engine.hpp"
#include "engine/history.hpp"
#include "engine/journal.hpp"
#include "journal/store.hpp"
#include "journal/verify.hpp"
#include "live/command.hpp"

namespace {

using namespace berth;

void read_command(std::string_view bytes) {
  const auto command = live::decode_command(bytes);
  if (!command) return;
  BERTH_ASSERT(encode(*command) == bytes);
  (void)live::command_line(command->arguments);
  (void)live::fingerprint_of(*command);
}

void read_environment(std::string_view bytes) {
  const auto variables = live::decode_environment(bytes);
  BERTH_ASSERT(!variables || live::encode_environment(*variables) == bytes);
}

/// The engine that recovery begins with.
Engine& restored() {
  static const std::string saved = [] {
    test::History history("headroom", 1);
    history.go_on(30);
    return history.engine().save();
  }();
  static std::optional<Engine> engine;
  engine.emplace(std::move(*Engine::restore(saved, *make_policy("headroom", "first-fit"))));
  return *engine;
}

/// Entries with their lengths before them. Time in them only goes on, and no further than a
/// daemon's clock could.
void read_entries(std::string_view bytes) {
  constexpr Instant kLatest = kStart + hours(24 * 366 * 100);
  Engine& engine = restored();
  for (ByteReader in(bytes); !in.at_end();) {
    const auto entry = decode_entry(in.text());
    if (in.failed() || !entry || entry->now < engine.now() || entry->now > kLatest) return;
    engine.replay(entry->now, entry->inputs, entry->decisions);
    BERTH_ASSERT(!engine.check());
  }
}

void read_file(std::string_view bytes) {
  static const auto folder = std::filesystem::temp_directory_path();
  const std::string path = folder / ("berth-fuzz-" + std::to_string(::getpid()) + ".db");
  std::ofstream(path, std::ios::binary) << bytes;
  const auto store = journal::Store::open(path, journal::Access::ReadOnly);
  if (store) {
    (void)store->recover();
    (void)store->last_job();
    (void)store->history({.most = 10});
    (void)store->job(JobId(1));
    (void)store->attempts(JobId(1));
    (void)store->reports(JobId(1));
    (void)store->blob(BlobId(1));
    (void)journal::verify(path);
  }
  std::filesystem::remove(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_command(bytes);
      break;
    case 1:
      read_environment(bytes);
      break;
    case 2:
      read_entries(bytes);
      break;
    default:
      read_file(bytes);
  }
  return 0;
}
