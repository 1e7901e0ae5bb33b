#include "slurm/common.hpp"

#include <cstdio>
#include <utility>

namespace berth::slurm {

void say(const std::string& text) { std::fprintf(stderr, "berth-slurm: %s\n", text.c_str()); }

void Common::order(Order order, const std::string& what, std::function<void()> then) const {
  courier->send(std::move(order), [what, then = std::move(then)](const Expected<SlurmId>& done) {
    if (!done) return say(what + ": " + done.error().message);
    if (then) then();
  });
}

std::optional<SlurmNote> note_of(const JobRecord& job) {
  const auto note = parse_slurm_note(job.admin_comment);
  return note ? *note : std::nullopt;
}

}  // namespace berth::slurm
