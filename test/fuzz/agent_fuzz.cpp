// Goal: nothing that a node's Extra field, a cgroup or a title may say makes berth crash, and a
// report that is read is written as it was meant. Method: every text is taken for each of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/assert.hpp"
#include "node/jobs.hpp"
#include "node/report.hpp"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  BERTH_ASSERT(node::slurm_job_of_cgroups(text) != 0U);
  BERTH_ASSERT(node::slurm_job_of_title(text) != 0U);
  const auto report = node::parse_node_report(text);
  if (!report || !*report) return 0;
  const std::string written = to_text(**report);
  const auto again = node::parse_node_report(written);
  BERTH_ASSERT(again && *again);
  BERTH_ASSERT(to_text(**again) == written);
  return 0;
}
