#include "live/keeper.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "core/codec.hpp"
#include "core/handle.hpp"
#include "core/members.hpp"
#include "core/memory_estimate.hpp"
#include "core/run_estimate.hpp"
#include "core/text.hpp"
#include "engine/explain.hpp"
#include "engine/journal.hpp"
#include "engine/possible.hpp"
#include "policy/registry.hpp"

namespace berth::live {

namespace {

constexpr std::size_t kQuickSnapshot = std::size_t{16} << 20;

/// Its process lives, and its GPU memory has been freed.
bool is_being_suspended(const Job& job) {
  const bool goes_on = job.after_stop == JobState::Suspended || job.after_stop == JobState::Held;
  return job.state == JobState::Stopping && !job.ending && !job.ended && goes_on;
}

/// The job an input, a decision or an effect is about; nothing for those about none.
template <class Value>
std::optional<JobId> job_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<JobId> {
        if constexpr (requires { JobId(held.job); }) {
          return held.job;
        } else {
          return std::nullopt;
        }
      },
      value);
}

std::vector<JobId> touched_by(std::span<const Input> inputs, const Effects& effects) {
  std::vector<JobId> jobs;
  const auto add = [&](const auto& values) {
    for (const auto& value : values) {
      if (const auto job = job_of(value)) jobs.push_back(*job);
    }
  };
  add(inputs), add(effects.decisions), add(effects.list);
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

/// Where the policy of that name remembers other things in this build, it begins without memory;
/// where there is none of that name or with those keys, the usual one stands in for it until the
/// rules of this start are taken over.
/// Jobs that no engine can go on with are left out, and named.
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

bool has_processes(const ClusterView& view) {
  bool any = false;
  view.for_each_job(
      [&](const Job& job) { any = any || holds_berth(job.state) || has_idle_process(job); });
  return any;
}

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

/// `train[3]`, after the program for an array without a name.
std::string task_name(const Submission& submission, std::int64_t task) {
  std::string name = submission.name;
  if (name.empty()) {
    const std::string& program = submission.command.arguments.front();
    name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  }
  return name + "[" + std::to_string(task) + "]";
}

}  // namespace

// ---- Coming back -----------------------------------------------------------------------------

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
  keeper->drop_old_notes();
  keeper->note_impossible();
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
  keeper.snapshot_size_ = snapshot.state.size();
  if (auto read = keeper.read_notes(); !read) return std::unexpected(read.error());
  const auto alike = keeper.decide_again(recovered.entries);
  if (!alike) return std::unexpected(alike.error());
  if (*alike) return keeper;
  salvaged = engine_of(snapshot);
  if (!salvaged) return std::unexpected(salvaged.error());
  keeper.engine_ = std::move(salvaged->engine);
  keeper.bad_ = std::move(salvaged->aside);
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
  since_snapshot_ += entry.inputs.size();
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
  since_snapshot_ = 0;
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
  return with_deferred([&]() -> Expected<void> {
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
  const std::string why = why_it_waits(opening, cluster);
  if (why.empty()) return move_to(cluster, rules);
  const std::string changed = what_changed(before, cluster) + ", and " + why;
  if (opening.change == Opening::Change::Refused) {
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
  return with_deferred([&]() -> Expected<void> {
    if (auto done = write_input_rows(last_, inputs); !done) return done;
    engine_.replay(last_, inputs, {});  // nothing may start on GPUs that are gone
    if (auto done = write_effect_rows(last_); !done) return done;
    return add_snapshot(journal::Continuity::Changed);
  });
}

/// The jobs that keep the machine as it was; "" if none do.
std::string Keeper::why_it_waits(const Opening& opening, const Cluster& cluster) const {
  std::vector<JobId> there;
  std::vector<JobId> suspended;
  std::vector<JobId> waiting;
  engine_.view().for_each_job([&](const Job& job) {
    if (holds_berth(job.state)) {
      there.push_back(job.id);
    } else if (has_idle_process(job)) {
      suspended.push_back(job.id);
    } else if (opening.has_lost_gpus && job.state != JobState::Held &&
               why_impossible(job.id, job.spec.request, cluster)) {
      waiting.push_back(job.id);
    }
  });
  std::string why;
  const auto add = [&](const std::vector<JobId>& jobs, const char* one, const char* several) {
    if (jobs.empty()) return;
    why += (why.empty() ? "" : ", ") + list_of(jobs, engine_.view()) +
           (jobs.size() == 1 ? one : several);
  };
  add(there, " holds a place there", " hold places there");
  add(suspended, " is suspended from there", " are suspended from there");
  if (opening.change == Opening::Change::Waits) {
    add(waiting, " waits for what is gone", " wait for what is gone");
  }
  return why;
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

/// What was taken in for a machine that is another now is held, and says so.
void Keeper::note_impossible() {
  const ClusterView view = engine_.view();
  view.for_each_job([&](const Job& job) {
    if (job.state != JobState::Held || has_idle_process(job)) return;
    const auto why = why_impossible(job.id, job.spec.request, view.cluster());
    if (!why) return;
    const std::string id = std::to_string(job.id.value());
    note(job.id, std::string(kBecause) + "it " + why->substr(why->find(": ") + 2) +
                     ", since this machine's GPUs are others; `berth update " + id +
                     "` changes what it asks, `berth release " + id + "` lets it start then");
  });
}

// ---- Going on --------------------------------------------------------------------------------

Lessons Keeper::lessons() const {
  return {.runs = engine_.view().past_runs(),
          .fewest = static_cast<std::size_t>(rules_.learn_run_times_after)};
}

/// An estimate that is learned is journaled with the job, so that it is the same ever after.
JobSpec Keeper::with_estimate(const Submission& submission) const {
  JobSpec spec = submission.spec;
  spec.vram_estimate = learned_memory(submission, 0);
  if (!rules_.learn_run_times) return spec;
  learn_estimate(spec, fingerprint_of(submission.command), lessons());
  return spec;
}

/// Zero for a job whose program has not run yet, and where no GPU has so much: such a job gets a
/// whole one.
Bytes Keeper::learned_memory(const Submission& submission, std::size_t index) const {
  const JobSpec& spec = submission.spec;
  const GpuRequest& gpu = spec.request.gpu;
  const bool states_none = gpu.vram == Bytes(0) && gpu.sharing != Sharing::Alone;
  if (!rules_.learn_memory || gpu.count == GpuCount(0) || !states_none) return spec.vram_estimate;
  const auto task =
      submission.tasks.empty() ? std::nullopt : std::optional(submission.tasks[index]);
  const Fingerprint what = memory_fingerprint_of(submission.command, task);
  if (what == Fingerprint(0)) return spec.vram_estimate;
  const auto peaks = store_.peaks_of(spec.user, what, kMostPeaks);
  const auto learned = peaks ? memory_from(*peaks) : std::nullopt;
  if (!learned) return spec.vram_estimate;
  const bool fits = std::ranges::any_of(engine_.view().cluster().gpus(), [&](const GpuSpec& one) {
    return *learned + one.context < one.capacity;
  });
  return fits ? *learned : Bytes(0);
}

/// Jobs that it waits for and that have ended already: the engine has forgotten how.
Expected<void> Keeper::note_ended(JobSpec& spec) const {
  for (std::size_t i = 0; i < spec.conditions->after.size(); ++i) {
    const JobId on = spec.conditions->after[i].job;
    if (spec.conditions->after[i].ended || engine_.view().knows(on)) continue;
    const auto rows = store_.jobs_between(on, on);
    if (!rows) return std::unexpected(rows.error());
    // A damaged row says nothing; what is known of that job is that it is gone.
    if (!rows->empty()) spec.conditions.edit().after[i].ended = rows->front().ended;
  }
  return {};
}

Expected<bool> Keeper::store_part(Submission& submission) {
  auto& arguments = submission.command.more_arguments;
  auto& environment = submission.command.more_environment;
  const bool is_argument = arguments.size() < submission.more_arguments.size();
  if (!is_argument && environment.size() == submission.more_environment.size()) return false;
  if (broken_) return fail(ErrorCode::Io, store_.path() + ": is not written any more");
  if (auto room = check_room(); !room) return std::unexpected(room.error());
  std::string& part = is_argument ? submission.more_arguments[arguments.size()]
                                  : submission.more_environment[environment.size()];
  BlobId blob;
  auto done = with_deferred([&]() -> Expected<void> {
    const auto added = store_.add_blob(part);
    if (!added) return std::unexpected(added.error());
    blob = *added;
    return {};
  });
  if (!done) return std::unexpected(done.error());
  if (!submission.stored) awaited_.push_back(submission.stored = std::make_shared<StoredParts>());
  submission.stored->blobs.push_back(blob);
  (is_argument ? arguments : environment).push_back(blob);
  part = std::string();
  return environment.size() < submission.more_environment.size() ||
         arguments.size() < submission.more_arguments.size();
}

std::vector<BlobId> Keeper::awaited_blobs() {
  std::vector<BlobId> blobs;
  std::erase_if(awaited_, [&](const std::weak_ptr<StoredParts>& weak) {
    const auto stored = weak.lock();
    if (stored) blobs.insert(blobs.end(), stored->blobs.begin(), stored->blobs.end());
    return !stored;
  });
  return blobs;
}

/// With its words, those too that were not stored before.
Expected<Command> Keeper::command_of(const Submission& submission) {
  const auto environment = store_.add_blob(submission.environment);
  if (!environment) return std::unexpected(environment.error());
  Command command = submission.command;
  command.environment = *environment;
  for (const auto& [parts, blobs] :
       {std::pair(&submission.more_arguments, &command.more_arguments),
        std::pair(&submission.more_environment, &command.more_environment)}) {
    while (blobs->size() < parts->size()) {
      const auto blob = store_.add_blob((*parts)[blobs->size()]);
      if (!blob) return std::unexpected(blob.error());
      blobs->push_back(*blob);
    }
  }
  return command;
}

/// Nobody is told of an array before all of it is there.
Expected<void> Keeper::note_arrival(const Submission& submission, JobId first, std::size_t end) {
  const std::size_t tasks = submission.tasks.size();
  const bool begins = submission.arrived == 0;
  const bool ends = end >= tasks;
  if (begins && !ends) return store_.add_arriving(first, static_cast<std::int64_t>(tasks));
  if (ends && !begins) return store_.drop_arriving(first);
  return {};
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

/// One job, or one for each task of an array that a step takes.
Expected<void> Keeper::add_jobs(Instant now, const Submission& submission,
                                std::vector<Input>& inputs) {
  const auto command = command_of(submission);
  if (!command) return std::unexpected(command.error());
  const auto blob = store_.add_blob(encode(*command));
  if (!blob) return std::unexpected(blob.error());
  const Fingerprint what = fingerprint_of(*command);
  JobSpec spec = with_estimate(submission);
  spec.command = *blob;
  if (auto done = note_ended(spec); !done) return done;
  const std::string line = command_line(command->arguments);
  const std::size_t jobs = std::max<std::size_t>(1, submission.tasks.size());
  const JobId first = submission.id.value_or(JobId(last_job_.value() + 1));
  const std::size_t end = std::min(jobs, submission.arrived + tasks_in_step(submission));
  if (auto done = note_arrival(submission, first, end); !done) return done;
  last_job_ = std::max(last_job_, JobId(first.value() + jobs - 1));
  if (jobs > 1) inputs.reserve(inputs.size() + 2 * (end - submission.arrived));
  for (std::size_t i = submission.arrived; i < end; ++i) {
    const JobId id(first.value() + i);
    std::string name = submission.name;
    if (!submission.tasks.empty()) {
      ArrayPlace& place = spec.conditions.edit().array;
      place.first = first;
      place.task = submission.tasks[i];
      place.tasks = static_cast<std::int32_t>(jobs);
      name = task_name(submission, place.task);
      spec.vram_estimate = learned_memory(submission, i);
    }
    // One copy: the jobs that it waits for may be thousands.
    journal::JobRow row{.job = id, .spec = {}, .submitted = now, .name = name, .command = line};
    row.spec = i + 1 < end ? spec : std::move(spec);
    if (const auto added = store_.add_job(row); !added) return added;
    inputs.emplace_back(Submitted{id, std::move(row.spec), submission.held});
    if (what != Fingerprint(0)) inputs.emplace_back(Identified{id, what});
  }
  return {};
}

Expected<void> Keeper::write_row(const Updated& updated) {
  const auto row = store_.job(updated.job);
  if (!row) return std::unexpected(row.error());
  if (!*row || (*row)->is_damaged) return {};
  JobSpec spec = (*row)->spec;
  spec.request = updated.spec.request;
  spec.time_limit = updated.spec.time_limit;
  spec.priority = updated.spec.priority;
  spec.command = updated.spec.command;
  return store_.change_job(updated.job, spec, updated.name.value_or((*row)->name));
}

/// Its command in which the client need not be there at the start.
Expected<void> Keeper::let_go(JobId id, std::vector<Input>& inputs) {
  const Job* const job = engine_.view().find(id);
  if (job == nullptr) return {};
  const auto bytes = store_.blob(job->spec.command);
  auto command = bytes ? decode_command(*bytes) : std::unexpected(bytes.error());
  if (!command) return std::unexpected(command.error());
  if (!command->attach || command->attach->optional) return {};
  command->attach->optional = true;
  const auto blob = store_.add_blob(encode(*command));
  if (!blob) return std::unexpected(blob.error());
  Updated updated{.job = id, .spec = job->spec};
  updated.spec.command = *blob;
  inputs.emplace_back(updated);
  return write_row(updated);
}

/// A job that berthd ends has its outcome before its process is gone, whatever that returns then.
Outcome Keeper::outcome_of(const AttemptEnded& ended) const {
  const Job* const job = engine_.view().find(ended.job);
  const bool is_being_ended = job != nullptr && job->attempt == ended.attempt && job->ending &&
                              !job->ended && job->state == JobState::Stopping;
  if (!is_being_ended) return ended.outcome;
  if (job->outcome == Outcome::Cancelled) return Outcome::Cancelled;
  const bool is_late =
      job->outcome == Outcome::Timeout && ended.at >= later(job->since, limit_left(*job));
  return is_late ? Outcome::Timeout : ended.outcome;
}

/// Without what is of a wait, and without who wanted another end than it had.
std::string Keeper::end_note(JobId job, Outcome outcome) const {
  const std::string note = note_of(job);
  if (note.starts_with(kBecause)) return "";
  return outcome == Outcome::Cancelled ? note : without_who_ended(note);
}

/// Users' rows that follow from what happened.
Expected<void> Keeper::write_input_rows(Instant now, const std::vector<Input>& inputs) {
  const auto end = [&](const AttemptEnded& ended) {
    return store_.end_attempt(ended.job, ended.attempt,
                              {.at = std::min(ended.at, now),
                               .outcome = outcome_of(ended),
                               .code = ended.code,
                               .note = end_note(ended.job, outcome_of(ended))});
  };
  for (const Input& input : inputs) {
    Expected<void> done;
    if (const auto* ended = std::get_if<AttemptEnded>(&input)) {
      if (auto written = write_peak(*ended); !written) return written;
    }
    if (const auto* started = std::get_if<Started>(&input)) {
      done = store_.set_started(started->job, started->attempt, now);
    } else if (const auto* exited = std::get_if<Exited>(&input)) {
      done = end({.job = exited->job,
                  .attempt = exited->attempt,
                  .outcome = exited->outcome,
                  .code = exited->code,
                  .at = now});
    } else if (const auto* ended = std::get_if<AttemptEnded>(&input)) {
      done = end(*ended);
    } else if (const auto* reported = std::get_if<Reported>(&input)) {
      done = store_.set_report(reported->job, {reported->key, reported->value, now});
    } else if (const auto* updated = std::get_if<Updated>(&input)) {
      done = write_row(*updated);
    } else if (const auto* released = std::get_if<Released>(&input)) {
      done = write_row(*released, now);
    }
    if (!done) return done;
  }
  return {};
}

/// The program of a job, as its memory is learned; 0 where its command cannot be read.
Fingerprint Keeper::memory_program_of(const Job& job) const {
  const auto bytes = store_.blob(job.spec.command);
  const auto command = bytes ? decode_command(*bytes) : std::unexpected(bytes.error());
  if (!command) return Fingerprint(0);
  const ArrayPlace& array = job.spec.conditions->array;
  return memory_fingerprint_of(*command,
                               array.tasks > 0 ? std::optional(array.task) : std::nullopt);
}

/// None is written of a job that held nothing, or whose GPUs could not be looked at.
Expected<void> Keeper::write_peak(const AttemptEnded& ended) {
  const auto peak = peaks_.find(ended.job);
  const ClusterView view = engine_.view();
  const Job* const job = view.find(ended.job);
  if (peak == peaks_.end() || peak->second == Bytes(0) || job == nullptr) return {};
  const bool was_stopped = job->state == JobState::Stopping;
  const bool is_whole = ended.outcome == Outcome::Done ||
                        (was_stopped && job->outcome == Outcome::Timeout && job->ending);
  return store_.set_peak({.job = ended.job,
                          .attempt = ended.attempt,
                          .user = job->spec.user,
                          .what = memory_program_of(*job),
                          .bytes = peak->second,
                          .is_whole = is_whole});
}

std::vector<Estimated> Keeper::take_late_estimates() {
  const ClusterView view = engine_.view();
  const std::uint64_t news = view.finished() - std::exchange(learned_, view.finished());
  if (!rules_.learn_run_times || news == 0) return {};
  return late_estimates(view, lessons(), view.finished_after(view.finished() - news),
                        [&](JobId job) { return view.company().of(job); });
}

std::string Keeper::with_who_ended(JobId job, std::string text) const {
  const std::string known = note_of(job);
  if (!says_who_ended(known) || says_who_ended(text) || text.empty()) return text;
  return known.substr(0, known.find("; ")) + "; " + text;
}

void Keeper::note(JobId job, std::string text) {
  std::string whole = with_who_ended(job, std::move(text));
  if (says_who_ended(whole) && kept_notes_.contains(job)) {
    return note_for_good(job, std::move(whole));
  }
  notes_[job] = std::move(whole);
  if (kept_notes_.erase(job) > 0) changed_notes_.insert(job);
}

void Keeper::note_for_good(JobId job, std::string text) {
  notes_[job] = with_who_ended(job, std::move(text));
  kept_notes_.insert(job);
  changed_notes_.insert(job);
}

Expected<void> Keeper::write_notes() {
  for (const JobId job : changed_notes_) {
    const std::string text = kept_notes_.contains(job) ? note_of(job) : "";
    if (auto done = store_.set_note(job, text); !done) return done;
  }
  return {};
}

/// Of a former daemon, before its last step is gone through again: a job that ended by it has its
/// note.
Expected<void> Keeper::read_notes() {
  auto notes = store_.job_notes();
  if (!notes) return std::unexpected(notes.error());
  for (auto& [job, text] : *notes) {
    notes_.emplace(job, std::move(text));
    kept_notes_.insert(job);
  }
  return {};
}

/// Of jobs that have ended.
void Keeper::drop_old_notes() {
  const ClusterView view = engine_.view();
  for (auto job = kept_notes_.begin(); job != kept_notes_.end();) {
    if (view.find(*job) != nullptr) {
      ++job;
      continue;
    }
    notes_.erase(*job);
    changed_notes_.insert(*job);
    job = kept_notes_.erase(job);
  }
}

std::vector<std::pair<JobId, CancelWish>> Keeper::cut_off_cancels() const {
  std::vector<std::pair<JobId, CancelWish>> wishes;
  for (const JobId job : kept_notes_) {
    if (auto wish = wish_in(note_of(job))) wishes.emplace_back(job, std::move(*wish));
  }
  return wishes;
}

/// What follows from the batch is added to its inputs.
Expected<void> Keeper::write_inputs(Instant now, Batch& batch, Stepped& stepped) {
  if (auto done = write_input_rows(now, batch.inputs); !done) return done;
  for (const Submission& submission : batch.submissions) {
    stepped.submitted.push_back(submission.id.value_or(JobId(last_job_.value() + 1)));
    if (auto done = add_jobs(now, submission, batch.inputs); !done) return done;
  }
  for (const JobId job : batch.left) {
    if (auto done = let_go(job, batch.inputs); !done) return done;
  }
  if (auto done = write_notes(); !done) return done;
  const std::string bytes = encode_inputs(batch.inputs);
  if (auto done = store_.add_inputs(entry_ + 1, now, bytes); !done) return done;
  since_snapshot_ += bytes.size();
  return {};
}

Expected<Stepped> Keeper::step(Instant now, const Batch& batch) {
  Batch own = batch;
  return step(now, own);
}

Expected<Stepped> Keeper::step(Instant now, Batch& batch) {
  Stepped stepped;
  const JobId before = last_job_;
  const auto given = std::ssize(batch.inputs);
  const auto drop_added = [&] {
    batch.inputs.erase(batch.inputs.begin() + given, batch.inputs.end());
  };
  if (auto done = store_.begin(); !done) return std::unexpected(done.error());
  auto written = write_deferred();
  if (written) written = write_inputs(now, batch, stepped);
  if (written) written = store_.commit();
  if (!written) {
    store_.rollback();
    last_job_ = before;
    drop_added();
    return std::unexpected(written.error());
  }
  deferred_.reset();
  changed_notes_.clear();
  for (const Input& input : batch.inputs) {
    if (const auto* const released = std::get_if<Released>(&input)) left_.erase(released->job);
  }
  ++entry_;
  last_ = now;
  stepped.effects = &engine_.step(now, batch.inputs);
  ended_ += static_cast<std::uint64_t>(std::ranges::count_if(
      stepped.effects->list,
      [](const Effect& effect) { return std::holds_alternative<Finished>(effect); }));
  stepped.touched = touched_by(batch.inputs, *stepped.effects);
  drop_added();
  if (auto done = write_outcome(now); !done) {
    broken_ = true;
    return std::unexpected(done.error());
  }
  return stepped;
}

/// Decisions before effects. Where there are no effects nothing can be contradicted, so the
/// decisions wait for the next transaction.
Expected<void> Keeper::write_outcome(Instant now) {
  const Effects& effects = engine_.effects();
  deferred_ = encode_decisions(effects.decisions);
  if (effects.list.empty()) return {};
  if (auto done = store_.begin(); !done) return done;
  if (auto done = write_deferred(); !done) return done;
  if (auto done = write_effect_rows(now); !done) return done;
  if (auto done = store_.commit(); !done) return done;
  deferred_.reset();
  return {};
}

/// Inside a transaction if one is open. `deferred_` goes once that is committed.
Expected<void> Keeper::write_deferred() {
  if (!deferred_) return {};
  return store_.add_decisions(entry_, *deferred_);
}

Expected<void> Keeper::write_effect_rows(Instant now) {
  const Stop* stop = nullptr;  // that of a job that ends without GPUs is right before its end
  for (const Effect& effect : engine_.effects().list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (stop != nullptr && finished != nullptr && finished->job == stop->job) {
      if (auto ended = write_idle_end(*stop, *finished); !ended) return ended;
    }
    stop = std::get_if<Stop>(&effect);
    auto done = std::visit([&](const auto& what) { return write_row(what, now); }, effect);
    if (!done) return done;
  }
  return {};
}

Expected<void> Keeper::write_row(const Launch& launch, Instant now) {
  return add_attempt({.job = launch.job,
                      .attempt = launch.attempt,
                      .granted = now,
                      .gpus = gpus_of(launch.grant)});
}

Expected<void> Keeper::write_row(const Continue& resumed, Instant now) {
  return add_attempt({.job = resumed.job,
                      .attempt = resumed.attempt,
                      .granted = now,
                      .gpus = gpus_of(resumed.grant)});
}

/// After a move to other GPUs a job's attempts are counted from 1 again: a row that is there stays.
Expected<void> Keeper::add_attempt(const journal::AttemptRow& attempt) {
  const auto before = store_.attempts(attempt.job);
  if (!before) return std::unexpected(before.error());
  const auto same = std::ranges::find(*before, attempt.attempt, &journal::AttemptRow::attempt);
  return same == before->end() ? store_.add_attempt(attempt) : Expected<void>();
}

std::vector<JobId> Keeper::take_ended_early() {
  return std::exchange(ended_early_, std::nullopt).value_or(std::vector<JobId>());
}

/// Nobody hears of the end of a process whose job has ended: it ends with its job.
Expected<void> Keeper::write_idle_end(const Stop& stop, const Finished& finished) {
  return store_.end_attempt(stop.job, stop.attempt,
                            {.at = finished.at,
                             .outcome = finished.outcome,
                             .code = 128 + SIGKILL,
                             .note = end_note(stop.job, finished.outcome)});
}

Expected<void> Keeper::write_row(const Finished& finished, Instant) {
  if (ended_early_) ended_early_->push_back(finished.job);
  const std::string note = end_note(finished.job, finished.outcome);
  notes_.erase(finished.job);
  if (kept_notes_.erase(finished.job) > 0) changed_notes_.insert(finished.job);
  peaks_.erase(finished.job);
  const std::string why = finished.note.empty() ? note : finished.note;
  return store_.end_job(
      finished.job,
      {.at = finished.at, .outcome = finished.outcome, .code = finished.code, .note = why});
}

std::string Keeper::handle_of(JobId id) const {
  if (const Job* const job = engine_.view().find(id)) {
    return berth::handle_of(id, job->spec.conditions->array);
  }
  const auto row = store_.job(id);
  const bool is_known = row && *row && !(*row)->is_damaged;
  return is_known ? berth::handle_of(id, (*row)->spec.conditions->array)
                  : std::to_string(id.value());
}

std::string Keeper::culprit_text(const Overrun& by) const {
  const std::string where = " on GPU " + std::to_string(by.gpu.value());
  if (by.job == JobId(0)) {
    const std::string who = host_->strangers_on(by.gpu);
    return "processes that berth did not start held " + to_text(by.held) + where +
           (who.empty() ? "" : ": " + who);
  }
  return "job " + handle_of(by.job) + " of " + host_->name_of(by.user) + " held " +
         to_text(by.held) + where +
         (by.granted == Bytes(0) ? ", which it was not given"
                                 : ", was granted " + to_text(by.granted));
}

/// Instead of what its attempt's row says, which reads as if it were the job's own fault.
Expected<void> Keeper::write_row(const Hurt& hurt, Instant) {
  const Job* const job = engine_.view().find(hurt.job);  // none if that was its end
  const Bytes asked = job == nullptr ? Bytes(0) : job->spec.request.gpu.vram;
  const std::string within =
      asked == Bytes(0) ? "what it was granted" : "the " + to_text(asked) + " it asked for";
  std::string text = "ran out of GPU memory within " + within + ": " + culprit_text(hurt.by);
  if (hurt.runs_again) text += "; it runs again, from its old place in the queue";
  note(hurt.job, text);
  return write_end_note(hurt.job, hurt.attempt);
}

/// The note of an attempt whose end is written already and whose cause was found out since.
Expected<void> Keeper::write_end_note(JobId job, Attempt attempt) {
  const auto attempts = store_.attempts(job);
  if (!attempts) return std::unexpected(attempts.error());
  const auto row = std::ranges::find(*attempts, attempt, &journal::AttemptRow::attempt);
  if (row == attempts->end() || !row->end) return {};
  journal::End end = *row->end;
  end.note = note_of(job);
  return store_.end_attempt(job, attempt, end);
}

Expected<void> Keeper::write_left(const Released& released, const Left& left) {
  if (left.millijoules) {
    auto done = store_.set_energy({released.job, released.attempt, *left.millijoules});
    if (!done) return done;
  }
  if (left.peak == Bytes(0)) return {};
  const auto peaks = store_.peaks(released.job);
  const auto attempts = store_.attempts(released.job);
  if (!peaks) return std::unexpected(peaks.error());
  if (!attempts) return std::unexpected(attempts.error());
  const auto known = std::ranges::find(*peaks, released.attempt, &journal::PeakRow::attempt);
  if (known != peaks->end()) {
    journal::PeakRow row = *known;
    row.bytes = std::max(row.bytes, left.peak);
    return store_.set_peak(row);
  }
  const auto row = std::ranges::find(*attempts, released.attempt, &journal::AttemptRow::attempt);
  const Job* const job = engine_.view().find(released.job);
  if (row == attempts->end() || !row->end || job == nullptr) return {};
  return store_.set_peak({.job = released.job,
                          .attempt = released.attempt,
                          .user = job->spec.user,
                          .what = memory_program_of(*job),
                          .bytes = left.peak,
                          .is_whole = row->end->outcome == Outcome::Done});
}

/// What it ran does not count the time until it goes on, which is as another attempt.
Expected<void> Keeper::write_suspension(const Job& job, Instant now) {
  const auto attempts = store_.attempts(job.id);
  if (!attempts) return std::unexpected(attempts.error());
  const auto row = std::ranges::find(*attempts, job.attempt, &journal::AttemptRow::attempt);
  if (row == attempts->end() || row->end) return {};
  return store_.end_attempt(
      job.id, job.attempt,
      {.at = now, .outcome = Outcome::Cancelled, .note = std::string(kSuspended)});
}

/// A job that failed and outlives its GPUs was waiting for a look at them.
Expected<void> Keeper::write_row(const Released& released, Instant now) {
  const Job* const job = engine_.view().find(released.job);
  if (const auto left = left_.find(released.job); left != left_.end()) {
    if (auto written = write_left(released, left->second); !written) return written;
  }
  if (job != nullptr && job->attempt == released.attempt && is_being_suspended(*job)) {
    return write_suspension(*job, now);
  }
  const bool was_judged_late = job != nullptr && job->attempt == released.attempt && job->ended &&
                               job->outcome == Outcome::Failed && !job->ending;
  if (!was_judged_late) return {};
  return write_end_note(released.job, released.attempt);
}

Expected<void> Keeper::check_room() {
  if (auto reserved = store_.reserve(); !reserved) return reserved;
  const auto free = host_->free_room();
  if (!free) return std::unexpected(free.error());
  if (*free >= journal::kReserve) return {};
  return fail(ErrorCode::Io, store_.path() + ": its disk has " + to_text(*free) +
                                 " free, jobs are taken in from " + to_text(journal::kReserve) +
                                 " on");
}

// ---- Snapshots -------------------------------------------------------------------------------

Expected<void> Keeper::snapshot_now(journal::Continuity continuity) {
  return with_deferred([&] { return add_snapshot(continuity); });
}

Expected<void> Keeper::tidy(const std::function<Expected<void>(journal::Store&)>& work) {
  if (broken_) return {};  // no transaction may follow
  return with_deferred([&] { return work(store_); });
}

template <class Write>
Expected<void> Keeper::with_deferred(Write write) {
  if (auto done = store_.begin(); !done) return done;
  auto done = write_deferred();
  if (done) done = write();
  if (done) done = store_.commit();
  if (!done) store_.rollback();
  if (done) deferred_.reset();
  return done;
}

Expected<void> Keeper::add_snapshot(journal::Continuity continuity) {
  const std::string state = engine_.save();
  underway_.reset();  // this one is newer
  since_snapshot_ = 0;
  snapshot_size_ = state.size();
  return store_.add_snapshot({.after = entry_,
                              .policy = rules_.policy,
                              .place = rules_.place,
                              .build = BERTH_VERSION,
                              .continuity = continuity,
                              .state = state});
}

Expected<void> Keeper::snapshot_if_due() {
  if (since_snapshot_ < std::max({sizes_.every, snapshot_size_, retry_at_})) return {};
  return begin_snapshot();
}

Expected<void> Keeper::begin_snapshot() {
  if (underway_ || may_drop_) return {};
  auto copy = host_->copy(engine_);
  if (!copy) {
    retry_at_ = since_snapshot_ + sizes_.every;
    return std::unexpected(copy.error());
  }
  underway_.emplace(Underway{.copy = std::move(*copy),
                             .row = {.after = entry_,
                                     .policy = rules_.policy,
                                     .place = rules_.place,
                                     .build = BERTH_VERSION,
                                     .continuity = journal::Continuity::Same,
                                     .state = {}},
                             .since = since_snapshot_});
  return {};
}

Expected<Keeper::SnapshotWork> Keeper::work_on_snapshot() {
  if (broken_) return SnapshotWork::None;  // no transaction may follow
  if (may_drop_) {
    Expected<bool> more = false;
    auto dropped = with_deferred([&]() -> Expected<void> {
      more = store_.drop_some();
      return more ? Expected<void>() : std::unexpected(more.error());
    });
    if (!dropped) return std::unexpected(dropped.error());
    may_drop_ = *more;
    return may_drop_ ? SnapshotWork::More : SnapshotWork::None;
  }
  if (!underway_) return SnapshotWork::None;
  const auto progress = underway_->copy->look();
  if (progress == StateCopy::Progress::Busy) return SnapshotWork::Waiting;
  auto done = progress == StateCopy::Progress::Done
                  ? add_part()
                  : fail(ErrorCode::Io, "the state for a snapshot could not be written down");
  if (done) return SnapshotWork::More;
  underway_.reset();
  retry_at_ = since_snapshot_ + sizes_.every;
  may_drop_ = true;
  return std::unexpected(done.error());
}

/// With the last part the snapshot is one: until then a crash leaves the journal as it was.
Expected<void> Keeper::add_part() {
  Underway& now = *underway_;
  const auto bytes = now.copy->read(now.bytes, sizes_.part);
  if (!bytes) return std::unexpected(bytes.error());
  const bool is_last = now.bytes + std::ssize(*bytes) == now.copy->size();
  auto done = with_deferred([&]() -> Expected<void> {
    if (auto added = store_.add_part(now.row.after, now.parts, *bytes); !added) return added;
    return is_last ? store_.add_snapshot_of_parts(now.row, now.parts + 1) : Expected<void>();
  });
  if (!done) return done;
  ++now.parts;
  now.bytes += std::ssize(*bytes);
  if (!is_last) return {};
  since_snapshot_ -= now.since;
  snapshot_size_ = static_cast<std::size_t>(now.bytes);
  retry_at_ = 0;
  may_drop_ = true;
  underway_.reset();
  return {};
}

Expected<void> Keeper::snapshot_at_end() {
  if (since_snapshot_ == 0 || snapshot_size_ > kQuickSnapshot) return {};
  return snapshot_now(journal::Continuity::Same);
}

}  // namespace berth::live
