// Goal: nothing that Slurm prints, with texts of users in it, makes berth crash or appear as a job
// whose number Slurm has not told. Method: the text's first part, up to a zero, are the numbers,
// the rest the records; then each part is taken for what else is read of Slurm.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/slurm/slurm_facts.hpp"
#include "core/base/assert.hpp"
#include "core/base/split.hpp"
#include "core/text/slurm_lines.hpp"
#include "core/text/slurm_note.hpp"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view rows = next_part(text, '\0');
  const SlurmIds ids = slurm_ids(rows);
  const SlurmShown told = slurm_records(text, ids);
  for (const SlurmRecord& record : told.records) BERTH_ASSERT(ids.contains(record.id));
  for (const std::int64_t job : told.uncertain) BERTH_ASSERT(ids.contains(job));
  cli::SlurmFacts facts = cli::slurm_facts(text, told.records);
  cli::add_reservations(facts, text);
  cli::add_partitions(facts, rows);
  BERTH_ASSERT(facts.jobs.size() <= told.records.size());
  for (const auto& job : ids) {
    if (const auto alone = slurm_record(text, rows, job)) BERTH_ASSERT(alone->id == job.first);
  }
  for (const cli::SlurmJob& job : facts.jobs) {
    static_cast<void>(slurm_handle_has(job.handle, rows));
  }
  static_cast<void>(slurm_handle_has(text, rows));
  const auto note = parse_slurm_note(rows);
  if (!note || !*note) return 0;
  const auto again = parse_slurm_note(to_text(**note));
  BERTH_ASSERT(again && *again && **again == **note);
  return 0;
}
