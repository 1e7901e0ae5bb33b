#include "cli/study/history.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/print/files.hpp"
#include "journal/store.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kPage = 1000;

/// Nothing for a job that never ran.
Expected<std::optional<trace::TraceJob>> job_of(const journal::Store& store,
                                                const journal::JobRow& row) {
  const std::string name = store.path() + ": job " + std::to_string(row.job.value());
  if (row.is_damaged) return fail(ErrorCode::BadData, name + ": its row is damaged");
  const auto attempts = store.attempts(row.job);
  if (!attempts) return std::unexpected(attempts.error());
  if (std::ranges::any_of(*attempts, &journal::AttemptRow::is_damaged)) {
    return fail(ErrorCode::BadData, name + ": the row of an attempt is damaged");
  }
  const auto ran = std::ranges::find_if(
      attempts->rbegin(), attempts->rend(),
      [](const journal::AttemptRow& attempt) { return attempt.started != kNever && attempt.end; });
  if (ran == attempts->rend()) return std::nullopt;
  trace::TraceJob job{.name = std::to_string(row.job.value()),
                      .submit = row.submitted,
                      .duration = std::max(Duration(0), ran->end->at - ran->started),
                      .spec = row.spec,
                      .user = std::to_string(row.spec.user.value()),
                      .model = row.name};
  job.spec.command = BlobId(0);
  const GpuRequest& gpu = job.spec.request.gpu;
  const bool unsaid = gpu.count > GpuCount(0) && gpu.vram == Bytes(0);
  if (unsaid) job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

/// From the first submission on.
void shift(trace::Trace& trace) {
  if (trace.jobs.empty()) return;
  const Duration origin = trace.jobs.front().submit - kStart;
  for (trace::TraceJob& job : trace.jobs) {
    job.submit -= origin;
    if (job.spec.deadline != kNever) job.spec.deadline -= origin;
  }
}

}  // namespace

bool is_journal(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  return beginning_of(path, magic.size()) == magic;
}

Expected<trace::Trace> read_history(const std::string& path) {
  const auto store = journal::Store::open(path, journal::Access::ReadOnly);
  if (!store) return std::unexpected(store.error());
  trace::Trace trace;
  for (journal::PageQuery query{.after = JobId(0), .most = kPage};;) {
    const auto page = store->history(query);
    if (!page) return std::unexpected(page.error());
    for (const journal::JobRow& row : *page) {
      auto job = job_of(*store, row);
      if (!job) return std::unexpected(job.error());
      if (*job) {
        trace.jobs.push_back(std::move(**job));
      } else {
        trace::count_left_out(trace, "jobs that never ran or have not ended");
      }
    }
    if (page->size() < kPage) break;
    query.after = page->back().job;
  }
  std::ranges::stable_sort(trace.jobs, {}, &trace::TraceJob::submit);
  shift(trace);
  return trace;
}

}  // namespace berth::cli
