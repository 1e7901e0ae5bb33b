#include "sim/programs.hpp"

#include "core/knowledge/fingerprint.hpp"

namespace berth::sim {

Fingerprint fingerprint_of(const trace::TraceJob& job, Programs programs) {
  const std::string& text = programs == Programs::Model ? job.model : job.name;
  if (programs == Programs::None || text.empty()) return Fingerprint(0);
  FingerprintSum sum(job.spec.user.value());
  sum.add(programs == Programs::Model ? text : without_numbers(text));
  return sum.value();
}

}  // namespace berth::sim
