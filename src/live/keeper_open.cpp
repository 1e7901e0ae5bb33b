// How a Keeper comes to be: it opens the journal, goes on from its last snapshot, and compares what
// was with the cluster and the rules of this start.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/codec.hpp"
#include "core/members.hpp"
#include "core/text/text.hpp"
#include "engine/explain.hpp"
#include "engine/journal.hpp"
#include "engine/possible.hpp"
#include "live/keeper.hpp"
#include "policy/registry.hpp"

namespace berth::live {

namespace {

/// Where the policy of that name remembers other things in this build, it begins without memory;
/// where there is none of that name or with those keys, the usual one stands in for it until the
/// rules of this start are taken over. Jobs that no engine can go on with are left out, and named.
Expected<Salvaged> engine_of(const journal::Snapshot& snapshot) {
  auto policy = make_policy(snapshot.policy, snapshot.place);
  if (policy) {
    auto engine = Engine::restore(snapshot.state, std::move(*policy));
    if (engine) return Salvaged{.engine = std::move(*engine), .aside = {}};
    policy = make_policy(snapshot.policy, snapshot.place);  // the first may have read a part
  }
  if (!policy) policy = make_policy(Rules().policy, Rules().place);
  return Engine::salvage(snapshot.state, std::move(*policy));
}

/// The policy of `rules`, with the memory of the one before if only keys differ.
Expected<std::unique_ptr<Policy>> policy_after(const std::string& before, const std::string& memory,
                                               const Rules& rules) {
  auto policy = make_policy(rules.policy, rules.place);
  const auto was = choose(before);
  const auto is = choose(rules.policy);
  if (!policy || !was || !is || was->policy != is->policy) return policy;
  if ((*policy)->restore(memory)) return policy;
  return make_policy(rules.policy, rules.place);  // what it read before it failed is dropped
}

/// Whether the accounts have these weights, and all other users the usual one.
bool are_in_force(const std::map<UserId, std::int64_t>& weights, const ClusterView& view) {
  const auto as_stated = [&](const auto& entry) {
    const auto stated = weights.find(entry.first);
    return entry.second.weight_milli == (stated == weights.end() ? kUsualWeight : stated->second);
  };
  const auto has_account = [&](const auto& entry) {
    return entry.second == kUsualWeight || view.accounts().contains(entry.first);
  };
  return std::ranges::all_of(view.accounts(), as_stated) &&
         std::ranges::all_of(weights, has_account);
}

/// All that is known of a job that is put aside, for people.
std::string aside_text(const PutAside& bad, const std::optional<journal::JobRow>& row) {
  std::string text = "job " + std::to_string(bad.job.id.value()) + ": " + bad.why + "\n";
  if (row && !row->is_damaged) {
    text += "name: " + row->name + "\ncommand: " + row->command +
            "\nsubmitted, in seconds since 1970: " + seconds_text(row->submitted) + "\n";
  }
  text += "uid: " + std::to_string(bad.job.spec.user.value()) +
          "\nasks: " + to_text(bad.job.spec.request) + "\n";
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "as it was, in layout " + std::to_string(kLayout) + " (doc/journal-format.md): ";
  for (const char byte : codec::kept(bad.job)) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text + "\n";
}

// ---- A machine that is another than before -----------------------------------------------------

std::string memory_list(const Cluster& cluster) {
  std::string list;
  for (const GpuSpec& gpu : cluster.gpus()) {
    list += (list.empty() ? "" : ", ") + to_text(gpu.capacity);
  }
  return list;
}

/// The first thing that another cluster has otherwise, with both values.
std::string what_changed(const Cluster& before, const Cluster& now) {
  const auto differ = [](const std::string& what, const std::string& now_is,
                         const std::string& was) {
    return "this machine now has " + what + now_is + ", its state was written for " + was;
  };
  const auto number = [](std::size_t count) { return std::to_string(count); };
  const std::size_t gpus = now.gpus().size();
  if (gpus != before.gpus().size()) {
    return differ("", number(gpus) + " GPUs", number(before.gpus().size()));
  }
  if (memory_list(now) != memory_list(before)) {
    return differ("GPUs of ", memory_list(now), memory_list(before));
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuSpec& is = now.gpus()[g];
    const GpuSpec& was = before.gpus()[g];
    if (is.slots != was.slots) return differ("`slots` ", number(is.slots), number(was.slots));
    if (is.context != was.context) {
      return differ("`context` ", to_text(is.context), to_text(was.context));
    }
  }
  CpuMilli cores(0);
  CpuMilli cores_before(0);
  for (const NodeSpec& node : now.nodes()) cores += node.cpu;
  for (const NodeSpec& node : before.nodes()) cores_before += node.cpu;
  if (cores != cores_before) {
    return differ("`cores` ", cores_text(cores), cores_text(cores_before));
  }
  return "the host memory, the names or the types of this machine's GPUs are not those that its "
         "state was written for";
}

bool has_processes(const ClusterView& view) {
  bool any = false;
  view.for_each_job(
      [&](const Job& job) { any = any || holds_berth(job.state) || has_idle_process(job); });
  return any;
}

/// What keeps a machine as it was, beside jobs with processes.
enum class Keeps : std::uint8_t {
  Nothing,
  JobsThatWait,  ///< For GPUs that are gone and may come back.
};

/// The jobs that keep the machine as it was; "" if none do.
std::string why_it_waits(const ClusterView& view, const Cluster& now, Keeps keeps) {
  std::vector<JobId> there;
  std::vector<JobId> suspended;
  std::vector<JobId> waiting;
  view.for_each_job([&](const Job& job) {
    if (holds_berth(job.state)) {
      there.push_back(job.id);
    } else if (has_idle_process(job)) {
      suspended.push_back(job.id);
    } else if (keeps == Keeps::JobsThatWait && job.state != JobState::Held &&
               why_impossible(job.id, job.spec.request, now)) {
      waiting.push_back(job.id);
    }
  });
  std::string why;
  const auto add = [&](const std::vector<JobId>& jobs, const char* one, const char* several) {
    if (jobs.empty()) return;
    why += (why.empty() ? "" : ", ") + list_of(jobs, view) + (jobs.size() == 1 ? one : several);
  };
  add(there, " holds a place there", " hold places there");
  add(suspended, " is suspended from there", " are suspended from there");
  add(waiting, " waits for what is gone", " wait for what is gone");
  return why;
}

/// Why a job that is held can never start on this machine, for its note; "" for others.
std::string why_held(const Job& job, const Cluster& now) {
  if (job.state != JobState::Held || has_idle_process(job)) return "";
  const auto why = why_impossible(job.id, job.spec.request, now);
  if (!why) return "";
  const std::string id = std::to_string(job.id.value());
  return std::string(kBecause) + "it " + why->substr(why->find(": ") + 2) +
         ", since this machine's GPUs are others; `berth update " + id +
         "` changes what it asks, `berth release " + id + "` lets it start then";
}

}  // namespace

Expected<Keeper> Keeper::open(Host& host, const Opening& opening, const Cluster& cluster,
                              const Rules& rules) {
  auto store = journal::Store::open(opening.path, journal::Access::ReadWrite, opening.loss);
  if (!store) return std::unexpected(store.error());
  const auto arriving = store->arriving();
  if (!arriving) return std::unexpected(arriving.error());
  JobId last_job = opening.last_job;  // the numbers of what did not come are nobody's
  for (const auto& [first, tasks] : *arriving) {
    last_job = std::max(last_job, JobId(first.value() + static_cast<std::uint64_t>(tasks) - 1));
  }
  store->raise_last_number(last_job);
  const auto known = store->last_job();
  if (!known) return std::unexpected(known.error());
  auto keeper =
      start_or_recover({.host = host, .store = std::move(*store), .sizes = opening.snapshots},
                       opening, cluster, rules);
  if (!keeper) return keeper;
  keeper->last_known_ = *known;
  const ClusterView view = keeper->engine_.view();
  keeper->notes_.drop_ended(view);
  view.for_each_job([&](const Job& job) {
    const std::string why = why_held(job, view.cluster());
    if (!why.empty()) keeper->note(job.id, why);
  });
  return keeper;
}

Expected<std::optional<Cluster>> Keeper::cluster_held(const std::string& path, journal::Loss loss) {
  if (std::error_code error; !std::filesystem::exists(path, error)) return std::nullopt;
  auto store = journal::Store::open(path, journal::Access::ReadWrite, loss);
  if (!store) return std::unexpected(store.error());
  const auto recovered = store->recover();
  if (!recovered) return std::unexpected(recovered.error());
  if (!recovered->snapshot) return std::nullopt;
  auto salvaged = engine_of(*recovered->snapshot);
  if (!salvaged) return std::unexpected(salvaged.error());
  Engine* const engine = &salvaged->engine;
  for (const journal::Entry& entry : recovered->entries) {
    const auto inputs = decode_inputs(entry.inputs);
    const auto decisions = decode_decisions(entry.decisions.value_or(encode_decisions({})));
    if (!inputs) return std::unexpected(inputs.error());
    if (!decisions) return std::unexpected(decisions.error());
    engine->replay(entry.now, *inputs, *decisions);
  }
  if (!has_processes(engine->view())) return std::nullopt;
  return engine->view().cluster();
}

Expected<Keeper> Keeper::start_or_recover(Parts parts, const Opening& opening,
                                          const Cluster& cluster, const Rules& rules) {
  const auto recovered = parts.store.recover();
  if (!recovered) return std::unexpected(recovered.error());
  if (!recovered->snapshot) return start(std::move(parts), cluster, rules);
  const auto& trusted = opening.trusted_clock;
  auto keeper = recover(std::move(parts), *recovered);
  if (!keeper) return keeper;
  if (trusted && keeper->last_ > *trusted) {
    if (auto done = keeper->set_back(*trusted); !done) return std::unexpected(done.error());
  }
  if (auto settled = keeper->settle(opening, cluster, rules); !settled) {
    return std::unexpected(settled.error());
  }
  return keeper;
}

Expected<Keeper> Keeper::start(Parts parts, const Cluster& cluster, const Rules& rules) {
  auto policy = make_policy(rules.policy, rules.place);
  if (!policy) return std::unexpected(policy.error());
  Keeper keeper(
      std::move(parts),
      Engine(cluster, {.settings = rules.settings, .bounds = rules.bounds}, std::move(*policy)));
  keeper.rules_ = rules;
  keeper.last_job_ = keeper.store_.last_number();
  if (auto done = keeper.snapshot_now(journal::Continuity::Changed); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = keeper.tell({}, rules); !done) return std::unexpected(done.error());
  return keeper;
}

/// And writes down what cannot be gone on with.
Expected<Keeper> Keeper::recover(Parts parts, const journal::Recovered& recovered) {
  auto keeper = recover_engine(std::move(parts), recovered);
  if (!keeper || keeper->bad_.empty()) return keeper;
  if (auto done = keeper->write_aside(std::exchange(keeper->bad_, {})); !done) {
    return std::unexpected(done.error());
  }
  return keeper;
}

/// Deciding again brings the policy's own memory back too. Where this build decides otherwise, what
/// was decided then is applied, and the policy starts without memory: hence the snapshot.
Expected<Keeper> Keeper::recover_engine(Parts parts, const journal::Recovered& recovered) {
  const JobId last_job = parts.store.last_number();
  const journal::Snapshot& snapshot = *recovered.snapshot;
  auto salvaged = engine_of(snapshot);
  if (!salvaged) return std::unexpected(salvaged.error());
  Keeper keeper(std::move(parts), std::move(salvaged->engine));
  keeper.bad_ = salvaged->aside;
  keeper.rules_ = {.policy = snapshot.policy,
                   .place = snapshot.place,
                   .settings = keeper.engine_.view().settings()};
  keeper.last_ = keeper.engine_.now();
  keeper.entry_ = snapshot.after;
  keeper.learned_ = keeper.engine_.view().finished();
  keeper.last_job_ = last_job;
  keeper.snapshots_.has_one(snapshot.state.size());
  if (auto read = keeper.notes_.read(keeper.store_); !read) return std::unexpected(read.error());
  const auto alike = keeper.decide_again(recovered.entries);
  if (!alike) return std::unexpected(alike.error());
  if (*alike) return keeper;
  salvaged = engine_of(snapshot);
  if (!salvaged) return std::unexpected(salvaged.error());
  keeper.engine_ = std::move(salvaged->engine);
  keeper.bad_ = std::move(salvaged->aside);
  keeper.snapshots_.has_one(snapshot.state.size());
  if (auto done = keeper.apply_again(recovered.entries); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = keeper.snapshot_now(journal::Continuity::Changed); !done) {
    return std::unexpected(done.error());
  }
  return keeper;
}

void Keeper::passed(const journal::Entry& entry) {
  entry_ = entry.number;
  last_ = entry.now;
  snapshots_.add_entry(entry.inputs.size());
}

/// Returns: whether every entry was decided as it was then. Only the last one may lack its
/// decisions.
Expected<bool> Keeper::decide_again(const std::vector<journal::Entry>& entries) {
  for (const journal::Entry& entry : entries) {
    const auto inputs = decode_inputs(entry.inputs);
    if (!inputs) return std::unexpected(inputs.error());
    learned_ = engine_.view().finished();  // entries so far have what was learned before them
    const Effects& effects = engine_.step(entry.now, *inputs);
    note_rejected(effects);
    if (entry.decisions) {
      const auto recorded = decode_decisions(*entry.decisions);
      if (!recorded) return std::unexpected(recorded.error());
      if (encode_decisions(effects.decisions) != encode_decisions(*recorded)) return false;
    }
    passed(entry);
    if (entry.decisions) continue;
    if (auto done = write_outcome(entry.now); !done) return std::unexpected(done.error());
  }
  return true;
}

Expected<void> Keeper::apply_again(const std::vector<journal::Entry>& entries) {
  for (const journal::Entry& entry : entries) {
    const auto inputs = decode_inputs(entry.inputs);
    if (!inputs) return std::unexpected(inputs.error());
    learned_ = engine_.view().finished();
    passed(entry);
    if (!entry.decisions) {
      engine_.step(entry.now, *inputs);
      return write_outcome(entry.now);
    }
    const auto decisions = decode_decisions(*entry.decisions);
    if (!decisions) return std::unexpected(decisions.error());
    note_rejected(engine_.replay(entry.now, *inputs, *decisions));
  }
  engine_.forget_events();
  return {};
}

/// Jobs that another build took in, and that this one cannot keep.
void Keeper::note_rejected(const Effects& effects) {
  for (const Effect& effect : effects.list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (finished == nullptr || finished->outcome != Outcome::Rejected) continue;
    const auto row = store_.job(finished->job);
    if (!row || !*row || (*row)->end) continue;
    const std::string& note = finished->note;
    const std::size_t colon = note.find(": ");
    Job job{.id = finished->job, .spec = (*row)->spec, .submitted = (*row)->submitted};
    bad_.push_back(
        {.job = std::move(job), .why = colon == note.npos ? note : note.substr(colon + 2)});
  }
}

/// Their rows end, and what is known of them is kept where people find it.
Expected<void> Keeper::write_aside(std::vector<PutAside> aside) {
  for (const PutAside& bad : aside) {
    const JobId id = bad.job.id;
    const auto row = store_.job(id);
    if (!row) return std::unexpected(row.error());
    const std::string where =
        host_->keep_aside("job-" + std::to_string(id.value()), aside_text(bad, *row));
    aside_.push_back({.job = id, .why = bad.why, .where = where});
  }
  return with_deferred([&](journal::Store&) -> Expected<void> {
    for (const PutAside& bad : aside) {
      const auto row = store_.job(bad.job.id);
      if (!row) return std::unexpected(row.error());
      const bool is_open = *row && !(*row)->end && !engine_.view().knows(bad.job.id);
      if (!is_open) continue;
      const bool ran = holds_berth(bad.job.state) || has_idle_process(bad.job);
      auto done = store_.end_job(bad.job.id, {.at = last_,
                                              .outcome = ran ? Outcome::Lost : Outcome::Rejected,
                                              .code = 0,
                                              .note = "put aside when berthd started: " + bad.why});
      if (!done) return done;
      if (ended_early_) ended_early_->push_back(bad.job.id);
    }
    return add_snapshot(journal::Continuity::Changed);
  });
}

/// The machine's clock was ahead of the truth, and what was written then is of a time to come.
Expected<void> Keeper::set_back(Instant to) {
  auto policy = make_policy(rules_.policy, rules_.place);
  if (!policy) policy = make_policy(Rules().policy, Rules().place);
  auto engine = engine_.set_back(to, std::move(*policy));
  if (!engine) return std::unexpected(engine.error());
  engine_ = std::move(*engine);
  set_back_ = last_ - to;
  last_ = to;
  return snapshot_now(journal::Continuity::Changed);
}

/// A machine that is another than before is taken over once nothing is left on the one before.
Expected<void> Keeper::settle(const Opening& opening, const Cluster& cluster, const Rules& rules) {
  const Cluster before = engine_.view().cluster();
  const bool is_other = cluster.without_links() != before.without_links() &&
                        !cluster.without_links().begins_with(before.without_links());
  if (!is_other) return adapt(cluster, rules);
  if (auto done = end_what_is_gone(); !done) return done;
  const bool waits = opening.change == Opening::Change::Waits;
  const Keeps keeps = waits && opening.has_lost_gpus ? Keeps::JobsThatWait : Keeps::Nothing;
  const std::string why = why_it_waits(engine_.view(), cluster, keeps);
  if (why.empty()) return move_to(cluster, rules);
  const std::string changed = what_changed(before, cluster) + ", and " + why;
  if (!waits) {
    return fail(ErrorCode::Conflict, changed + ": start berthd as before, end them, then change");
  }
  kept_cluster_ = changed +
                  ": berthd goes on as before, and takes the change over at the first "
                  "start at which this is over";
  return adapt(before, rules);
}

Expected<void> Keeper::adapt(const Cluster& cluster, const Rules& rules) {
  rules_.learn_run_times = rules.learn_run_times;
  rules_.learn_run_times_after = rules.learn_run_times_after;
  rules_.learn_memory = rules.learn_memory;
  const bool same_policy = rules.policy == rules_.policy && rules.place == rules_.place;
  const Cluster& before = engine_.view().cluster();
  const bool same_cluster = cluster.without_links() == before.without_links();
  const bool same_settings = rules.settings == engine_.view().settings();
  const bool same_bounds = rules.bounds == engine_.view().preemption_bounds();
  const bool same_weights = are_in_force(rules.weights, engine_.view());
  const bool same_speeds = rules.speeds == engine_.view().speeds();
  const bool same_facts = same_weights && same_speeds && cluster == before;
  if (same_policy && same_cluster && same_settings && same_bounds && same_facts) return {};
  if (!same_cluster) {  // it has more nodes
    auto policy = make_policy(rules.policy, rules.place);
    if (!policy) return std::unexpected(policy.error());
    auto engine = engine_.with_nodes(cluster, std::move(*policy));
    if (!engine) return std::unexpected(engine.error());
    engine_ = std::move(*engine);
  } else if (!same_policy) {
    auto policy = policy_after(rules_.policy, engine_.policy_memory(), rules);
    if (!policy) return std::unexpected(policy.error());
    engine_.set_policy(std::move(*policy));
  }
  rules_ = rules;
  if (auto done = snapshot_now(journal::Continuity::Changed); !done) return done;
  std::vector<Input> inputs;
  if (!same_settings) inputs.push_back(Configured{rules.settings});
  if (!same_bounds) inputs.push_back(Bounded{rules.bounds});
  for (const NodeId node : cluster.node_ids()) {
    if (std::ranges::equal(cluster.links_of(node), engine_.view().cluster().links_of(node))) {
      continue;
    }
    const auto links = cluster.links_of(node);
    inputs.push_back(Wired{.node = node, .links = {links.begin(), links.end()}});
  }
  return tell(std::move(inputs), rules);
}

/// A step with these inputs, and the weights and speeds if others are in force; none without any.
Expected<void> Keeper::tell(std::vector<Input> inputs, const Rules& rules) {
  if (!are_in_force(rules.weights, engine_.view())) inputs.push_back(Weighed{rules.weights});
  if (rules.speeds != engine_.view().speeds()) inputs.push_back(Profiled{rules.speeds});
  if (inputs.empty()) return {};
  const auto stepped = step(last_, {.inputs = std::move(inputs), .submissions = {}});
  return stepped ? Expected<void>() : std::unexpected(stepped.error());
}

/// Attempts of which nothing is left, as after the machine was started anew, end before its GPUs
/// are compared with those that they held.
Expected<void> Keeper::end_what_is_gone() {
  std::vector<Input> inputs;
  engine_.view().for_each_job([&](const Job& job) {
    const bool had_process = holds_berth(job.state) || has_idle_process(job);
    if (!had_process) return;
    const Remains left = host_->remains_of(job);
    if (left.trace == Trace::Lives) return;
    if (left.trace == Trace::None && job.state == JobState::Starting) {
      inputs.emplace_back(StartFailed{job.id, job.attempt});
      return;
    }
    if (!left.ending.note.empty()) note(job.id, left.ending.note);
    inputs.emplace_back(AttemptEnded{.job = job.id,
                                     .attempt = job.attempt,
                                     .outcome = left.ending.outcome,
                                     .code = left.ending.code,
                                     .at = std::min(left.ending.at, last_)});
    if (holds_berth(job.state)) inputs.emplace_back(Released{job.id, job.attempt});
  });
  if (inputs.empty()) return {};
  return with_deferred([&](journal::Store&) -> Expected<void> {
    if (auto done = rows().write(last_, inputs); !done) return done;
    engine_.replay(last_, inputs, {});  // nothing may start on GPUs that are gone
    if (auto done = write_effect_rows(last_); !done) return done;
    return add_snapshot(journal::Continuity::Changed);
  });
}

/// All that is known goes along.
Expected<void> Keeper::move_to(const Cluster& cluster, const Rules& rules) {
  auto policy = make_policy(rules.policy, rules.place);
  if (!policy) return std::unexpected(policy.error());
  auto engine = engine_.moved_to(cluster, std::move(*policy));
  if (!engine) return std::unexpected(engine.error());
  engine_ = std::move(*engine);
  rules_ = rules;
  if (auto done = snapshot_now(journal::Continuity::Changed); !done) return done;
  return tell({Configured{rules.settings}, Bounded{rules.bounds}}, rules);
}

Expected<std::vector<std::pair<JobId, std::vector<JobId>>>> Keeper::cut_off() {
  const auto arrays = store_.arriving();
  if (!arrays) return std::unexpected(arrays.error());
  std::vector<std::pair<JobId, std::vector<JobId>>> found;
  std::vector<JobId> over;
  for (const auto& [first, tasks] : *arrays) {
    std::vector<JobId> jobs;
    const JobId end(first.value() + static_cast<std::uint64_t>(std::max<std::int64_t>(0, tasks)));
    for (auto id = engine_.view().job_from(first); id && *id < end;
         id = engine_.view().job_from(JobId(id->value() + 1))) {
      jobs.push_back(*id);
    }
    if (jobs.empty()) over.push_back(first);
    if (!jobs.empty()) found.emplace_back(first, std::move(jobs));
  }
  if (over.empty()) return found;
  auto done = tidy([&](journal::Store& store) -> Expected<void> {
    for (const JobId first : over) {
      if (auto dropped = store.drop_arriving(first); !dropped) return dropped;
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return found;
}

}  // namespace berth::live
