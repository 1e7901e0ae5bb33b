#include "daemon/limits/mps.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "daemon/loop/processes.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

std::optional<JobId> job_of_file(const std::string& name) {
  JobId::rep number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return JobId(number);
}

Variables pipes_of(const std::string& folder) {
  return {{"CUDA_MPS_PIPE_DIRECTORY", folder}, {"CUDA_MPS_LOG_DIRECTORY", folder}};
}

/// A text for each of the client's GPUs, by its position among them.
template <class Text>
std::string for_each_gpu(const MpsClient& client, char separator, const Text& text_at) {
  std::string list = text_at(0);
  for (std::size_t i = 1; i < client.gpus.size(); ++i) list += separator + text_at(i);
  return list;
}

/// `1000-0+2`
std::string server_of(const MpsClient& client) {
  return std::to_string(client.user) + "-" + for_each_gpu(client, '+', [&](std::size_t i) {
           return std::to_string(client.gpus[i].value());
         });
}

/// By UUID: a server numbers its GPUs anew, and its clients would have to know how.
std::string visible_to(const MpsClient& client) {
  return for_each_gpu(client, ',', [&](std::size_t i) { return client.uuids[i]; });
}

/// `0=3392M,1=3392M`: by the server's numbers, which are its clients'. An entry for a device that a
/// client cannot see would void all of them.
std::string limits_of(const MpsClient& client) {
  const std::string most = "=" + std::to_string(client.most.raw() >> 20) + "M";
  return for_each_gpu(client, ',', [&](std::size_t i) { return std::to_string(i) + most; });
}

/// The user in `1000-0+2`.
std::optional<uid_t> user_of_server(const std::string& name) {
  uid_t user = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, user);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '-') return std::nullopt;
  return user;
}

constexpr std::string_view kMpsJobs = ".jobs";

}  // namespace

Mps::Mps(Loop& loop, MpsOptions options) : options_(std::move(options)), runs_(loop) {
  if (options_.control.empty()) {
    why_not_ = kNoMpsControl;
    return;
  }
  ::mkdir(options_.folder.c_str(), 0711);
  for (const std::string& name : names_in(options_.folder)) {
    if (!name.ends_with(kMpsJobs)) continue;
    const std::string server = name.substr(0, name.size() - kMpsJobs.size());
    const auto user = user_of_server(server);
    if (!user) continue;
    Server& known = servers_[server];
    known.user = *user;
    known.group = *user;
    for (const std::string& file : names_in(jobs_of(server))) {
      std::ifstream text(jobs_of(server) + "/" + file);
      std::int64_t most = 0;
      text >> most >> known.group;
      if (const auto job = job_of_file(file))
        clients_[*job] = {.server = server, .most = Bytes(most)};
    }
  }
}

Bytes Mps::most_of(JobId job) const {
  const auto found = clients_.find(job);
  return found == clients_.end() ? Bytes(0) : found->second.most;
}

std::string Mps::why_without(JobId job) const {
  const auto found = without_.find(job);
  return found == without_.end() ? "" : found->second;
}

bool Mps::is_used(const std::string& name) const {
  return std::ranges::any_of(clients_,
                             [&](const auto& client) { return client.second.server == name; });
}

/// Asks nobody: a process that has ended makes its pidfd readable.
bool Mps::is_up(const Server& server) const {
  pollfd ended{.fd = server.control.number(), .events = POLLIN, .revents = 0};
  return server.control.is_open() && ::poll(&ended, 1, 0) == 0;
}

/// So that the next daemon knows: the folder of these files is berthd's own.
Expected<void> Mps::write_down(const MpsClient& client, const std::string& server) const {
  ::mkdir(jobs_of(server).c_str(), 0700);
  std::ofstream file(jobs_of(server) + "/" + std::to_string(client.job.value()));
  file << client.most.raw() << ' ' << client.group << '\n';
  file.close();
  return file.good() ? Expected<void>() : io_error(jobs_of(server));
}

void Mps::begin(const MpsClient& client, Ready ready) {
  const std::string name = server_of(client);
  const auto before = clients_.find(client.job);
  if (before != clients_.end() && before->second.server != name) forget(client.job);
  without_.erase(client.job);
  if (auto done = write_down(client, name); !done) {
    without_[client.job] = done.error().message;
    return ready(std::unexpected(done.error()));
  }
  Variables variables = pipes_of(folder_of(name));
  variables.emplace_back("CUDA_VISIBLE_DEVICES", visible_to(client));
  if (client.most > Bytes(0)) {
    variables.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits_of(client));
  }
  Server& server = servers_[name];
  server.user = client.user;
  server.group = client.group;
  server.groups = client.groups;
  server.visible = visible_to(client);
  Client& kept = clients_[client.job] = {.server = name, .most = client.most};
  if (is_up(server) && !server.is_busy) return ready(variables);
  kept.ready = std::move(ready);
  kept.variables = std::move(variables);
  if (!server.is_busy) start(name);
}

Expected<void> Mps::send(const std::string& name, MpsErrand::What what, HelperRuns::Over over) {
  Server& server = servers_.at(name);
  Variables variables = options_.environment;
  for (auto& variable : pipes_of(folder_of(name))) variables.push_back(std::move(variable));
  if (what == MpsErrand::What::Begin) {
    variables.emplace_back("CUDA_VISIBLE_DEVICES", server.visible);
  }
  auto sent = runs_.start({.flag = kMpsErrand,
                           .input = encode(MpsErrand{.what = what,
                                                     .user = server.user,
                                                     .group = server.group,
                                                     .groups = server.groups,
                                                     .control = options_.control,
                                                     .folder = folder_of(name)}),
                           .variables = std::move(variables),
                           .most = kPatience},
                          std::move(over));
  server.is_busy = sent.has_value();
  return sent;
}

void Mps::start(const std::string& name) {
  auto sent = send(name, MpsErrand::What::Begin,
                   [this, name](const HelperEnd& end) { on_begun(name, end.said); });
  if (!sent) tell_waiting(name, sent);
}

/// Its user says which process it is: one of theirs at any rate, or it is not believed.
void Mps::on_begun(const std::string& name, const std::string& said) {
  Server& server = servers_.at(name);
  server.is_busy = false;
  const auto pid = decode_mps_answer(said);
  if (pid) {
    server.control = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
    if (process_user(*pid) != server.user) server.control = Descriptor();
  }
  if (is_up(server)) {
    tell_waiting(name, {});
  } else {
    const std::string what = folder_of(name) + ": no MPS server";
    const bool is_told = !pid && pid.error().code == ErrorCode::Io;
    tell_waiting(name, is_told ? fail(ErrorCode::Io, pid.error().message)
                       : pid   ? fail(ErrorCode::Io, what + " of its user's runs there")
                               : fail(ErrorCode::Io,
                                      what + " within " +
                                          std::to_string(kPatience.count() / 1'000'000) + " s"));
  }
  end_if_idle(name);
}

/// One that waits in vain is no client.
void Mps::tell_waiting(const std::string& name, const Expected<void>& done) {
  std::vector<JobId> waiting;
  for (const auto& [job, client] : clients_) {
    if (client.server == name && client.ready) waiting.push_back(job);
  }
  for (const JobId job : waiting) {
    const auto found = clients_.find(job);
    if (found == clients_.end()) continue;
    const Ready ready = std::exchange(found->second.ready, nullptr);
    const Variables variables = std::move(found->second.variables);
    if (!done) forget(job), without_[job] = done.error().message;
    ready(done ? Expected<Variables>(variables) : std::unexpected(done.error()));
  }
}

void Mps::forget(JobId job) {
  without_.erase(job);
  const auto found = clients_.extract(job);
  if (!found) return;
  const std::string& server = found.mapped().server;
  ::unlink((jobs_of(server) + "/" + std::to_string(job.value())).c_str());
  end_if_idle(server);
}

void Mps::end_if_idle(const std::string& name) {
  const auto found = servers_.find(name);
  if (found == servers_.end() || found->second.is_busy || is_used(name)) return;
  static_cast<void>(send(name, MpsErrand::What::End,
                         [this, name](const HelperEnd& end) { on_ended(name, end.said); }));
}

/// A server that does not go when it is told is ended. Who came meanwhile has a new one.
void Mps::on_ended(const std::string& name, const std::string& said) {
  Server& server = servers_.at(name);
  server.is_busy = false;
  if (server.control.is_open() && !says_gone(said)) send_signal(server.control, SIGKILL);
  server.control = Descriptor();
  if (is_used(name)) return start(name);
  ::rmdir(jobs_of(name).c_str());
  servers_.erase(name);
}

void Mps::sweep(const std::function<bool(JobId)>& is_current) {
  std::vector<JobId> over;
  for (const auto& [job, client] : clients_) {
    if (!is_current(job)) over.push_back(job);
  }
  for (const JobId job : over) forget(job);
  std::erase_if(without_, [&](const auto& one) { return !is_current(one.first); });
  std::vector<std::string> names;
  for (const auto& [name, server] : servers_) names.push_back(name);
  for (const std::string& name : names) end_if_idle(name);
}

std::string find_program(const std::string& name, const std::string& path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string file = path.substr(at, end - at) + "/" + name;
    if (end > at && ::access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return "";
}

}  // namespace berth::daemon
