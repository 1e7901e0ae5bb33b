// Goal: nothing that a user sends makes berthd's readers crash, hang or hoard, and what is taken in
// can be kept, shown and run.
// Method: the first byte chooses a submission or an adoption, a request target or a report; the
// rest is its text. A submission that is taken goes the way of its job: into the journal's blobs
// and out again, into a list, and as an order to the shim.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/assert.hpp"
#include "daemon/answers/queries.hpp"
#include "daemon/attempts/hints.hpp"
#include "daemon/attempts/reports.hpp"
#include "daemon/requests/adoption.hpp"
#include "daemon/requests/requests.hpp"
#include "engine/possible.hpp"
#include "http/target.hpp"
#include "live/command.hpp"
#include "shim/order.hpp"

namespace {

using namespace berth;
using namespace berth::daemon;
using namespace berth::live;

const http::Peer kPeer{.pid = 7, .user = 1000, .group = 100, .groups = {100, 27}};

/// Whoever asks, the job is theirs, and a shim takes it.
void check(const Submission& job) {
  const Command& command = job.command;
  BERTH_ASSERT(job.spec.user == UserId(kPeer.user));
  BERTH_ASSERT(command.owner == (Credentials{kPeer.user, kPeer.group, kPeer.groups}));
  const auto variables = decode_environment(job.environment);
  BERTH_ASSERT(variables.has_value() && encode_environment(*variables) == job.environment);
  const auto kept = decode_command(encode(command));
  BERTH_ASSERT(kept.has_value() && *kept == command);
  const shim::Order order{.job = JobId(1),
                          .attempt = Attempt(1),
                          .arguments = command.arguments,
                          .environment = *variables,
                          .directory = command.directory,
                          .groups = command.owner.groups,
                          .umask = command.umask,
                          .cgroup = "",
                          .attach = command.attach};
  BERTH_ASSERT(shim::decode_order(encode(order)).has_value());
}

const Cluster& some_machine() {
  static const Cluster cluster = [] {
    Cluster made;
    made.add_switch();
    made.add_node({.name = "a", .gpus = 2, .vram = Bytes(std::int64_t{24} << 30)});
    return made;
  }();
  return cluster;
}

/// What lists and warnings make of it.
void show(const Submission& job) {
  constexpr std::size_t kMost = 200;
  const std::string line = command_line(job.command.arguments, kMost);
  BERTH_ASSERT(line.size() <= kMost + std::string_view("…").size());
  BERTH_ASSERT(Json::accept(to_body({{"name", job.name}, {"command_line", line}})));
  (void)fingerprint_of(job.command);
  (void)memory_warnings(job.command.arguments, job.spec.request.gpu, {});
  (void)why_impossible(JobId(0), job.spec.request, some_machine());
}

void read_adoption(std::string_view text) {
  const auto wish = parse_adopt(text);
  BERTH_ASSERT(!wish || wish->pid > 0);
}

void read_submission(std::string_view text) {
  const auto job = parse_submission(text, kPeer);
  if (!job) return;
  check(*job);
  show(*job);
}

void read_query(std::string_view text) {
  http::Request request;
  if (!http::read_target(text, request)) return;
  const auto page = parse_page(request);
  BERTH_ASSERT(!page || (page->most >= 1 && page->most <= 1000));
  (void)query_flag(request, "follow");
  (void)query_number(request, "offset", std::uint64_t{1} << 62);
  const auto handles = parse_handles(request.path.substr(1));
  BERTH_ASSERT(!handles || !handles->empty());
  (void)parse_wanted(request);
  (void)parse_many(text);
}

void read_report(std::string_view text) {
  const auto report = parse_report(text);
  BERTH_ASSERT(!report || (!report->key.empty() && report->key.size() <= 64));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_adoption(text);
      read_submission(text);
      break;
    case 1:
      read_query(text);
      break;
    default:
      read_report(text);
  }
  return 0;
}
