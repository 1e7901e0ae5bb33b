#include "daemon/dag.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/rng.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {

namespace {

struct Node {
  int id = 0;
  int jobs = 1;
  std::set<int> after;  ///< Nodes.
};

/// A line when it begins and a line when it ends, in one file: appended whole, so in order.
Json body_of(const Rig& rig, int number, const Node& node, const std::vector<Node>& nodes) {
  const std::string name = std::to_string(number) + "-${BERTH_ARRAY_TASK_ID:-0}";
  Json body = kNoGpus;
  body["command"] = {"sh", "-c", "echo b " + name + " >> trail; echo e " + name + " >> trail"};
  body["directory"] = rig.folder().path().string();
  body["environment"] = {"PATH=/bin:/usr/bin"};
  for (const int on : node.after) {
    const char* const when = on % 2 == 0 ? "after-ok" : "after-any";
    body["after"].push_back({{"job", nodes[static_cast<std::size_t>(on)].id}, {"when", when}});
  }
  if (node.jobs > 1) body["array"] = "1-" + std::to_string(node.jobs) + "%2";
  body.erase("vram_bytes");
  return body;
}

/// Line numbers of the first begin and the last end of each node, and how often each job began.
struct Trail {
  std::map<int, int> begin;
  std::map<int, int> end;
  std::map<std::string, int> began;
};

Trail read_trail(const std::string& text) {
  Trail trail;
  std::istringstream lines(text);
  std::string what;
  std::string name;
  for (int line = 0; lines >> what >> name; ++line) {
    const int node = std::stoi(name);
    if (what == "b") trail.begin.emplace(node, line);
    if (what == "b") ++trail.began[name];
    if (what == "e") trail.end[node] = line;
  }
  return trail;
}

}  // namespace

void run_dag(Rig& rig, const DagRun& run) {
  SCOPED_TRACE("seed " + std::to_string(run.seed));
  Rng rng(run.seed, 0);
  std::vector<Node> nodes;
  int kills = 0;
  for (int number = 0; number < run.nodes; ++number) {
    Node node{.jobs = number % 10 == 9 ? 3 : 1};
    for (std::int64_t left = number == 0 ? 0 : rng.between(0, 3); left > 0; --left) {
      node.after.insert(static_cast<int>(rng.between(std::max(0, number - 12), number - 1)));
    }
    const Rig::Answer answer = rig.request("POST", "/v1/jobs", body_of(rig, number, node, nodes));
    ASSERT_EQ(answer.status, 201) << answer.body;
    node.id = answer.body["id"];
    nodes.push_back(node);
    // Half of the kills come while the graph is being submitted.
    const bool is_due = kills < run.kills / 2 && number >= run.nodes * (kills + 1) / run.kills;
    if (is_due) ++kills, rig.kill(), rig.start();
  }
  for (; kills < run.kills; ++kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng.between(0, 50'000)));
    rig.kill();
    rig.start();
  }
  for (const Node& node : nodes) {
    for (int job = 0; job < node.jobs; ++job) {
      EXPECT_EQ(rig.wait_end(node.id + job)["state"], "done") << node.id + job;
    }
  }
  const Trail trail = read_trail(read_file(rig.folder() / "trail"));
  std::size_t jobs = 0;
  for (const Node& node : nodes) jobs += static_cast<std::size_t>(node.jobs);
  EXPECT_EQ(trail.began.size(), jobs);
  for (const auto& [name, times] : trail.began) EXPECT_EQ(times, 1) << name;
  for (int number = 0; number < run.nodes; ++number) {
    for (const int on : nodes[static_cast<std::size_t>(number)].after) {
      EXPECT_LT(trail.end.at(on), trail.begin.at(number)) << number << " after " << on;
    }
  }
  EXPECT_EQ(rig.stop(), 0);
  const auto verified = run_program("berth", {"sim", "--verify", rig.journal()});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

}  // namespace berth::test
