#include "daemon/mps.hpp"

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

#include "daemon/processes.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr const char* kPidFile = "/nvidia-cuda-mps-control.pid";

/// Whose program runs, with what.
struct Run {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string input;  ///< Read by it from standard input.
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child: only what a process with other threads may call between fork and exec. The C
/// library's own calls that change the user speak to threads that are not there.
[[noreturn]] void become_and_run(const Run& run, int input, char* const* arguments,
                                 char* const* environment) {
  const bool is_root = ::geteuid() == 0;
  const bool good =
      !is_root || (::syscall(SYS_setgroups, run.groups.size(), run.groups.data()) == 0 &&
                   ::syscall(SYS_setresgid, run.group, run.group, run.group) == 0 &&
                   ::syscall(SYS_setresuid, run.user, run.user, run.user) == 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(input, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  if (good && ::chdir("/") == 0) ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

/// Returns: its pidfd.
Expected<Descriptor> spawn(Run run) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("a pipe for nvidia-cuda-mps-control");
  const Descriptor theirs(ends[0]);
  const Descriptor ours(ends[1]);
  if (::write(ours.number(), run.input.data(), run.input.size()) < 0) {
    return io_error("a pipe for nvidia-cuda-mps-control");
  }
  const auto arguments = pointers_to(run.arguments);
  const auto environment = pointers_to(run.environment);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the child
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    become_and_run(run, theirs.number(), arguments.data(), environment.data());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return io_error("nvidia-cuda-mps-control");
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd.is_open()) return io_error("pidfd_open");
  return pidfd;
}

/// Waits for its end. Returns: whether it did well in time; else it is killed.
bool does_well(const Descriptor& pidfd, Duration most) {
  pollfd ended{.fd = pidfd.number(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, static_cast<int>(micros(most) / 1000)) <= 0) send_signal(pidfd, SIGKILL);
  siginfo_t info{};
  const bool is_known = ::waitid(P_PIDFD, static_cast<id_t>(pidfd.number()), &info, WEXITED) == 0;
  return is_known && info.si_code == CLD_EXITED && info.si_status == 0;
}

bool has_control(const std::string& folder) {
  std::ifstream file(folder + kPidFile);
  pid_t pid = 0;
  return (file >> pid) && pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

std::optional<JobId> job_of(const std::string& name) {
  JobId::rep number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return JobId(number);
}

std::vector<std::string> words_of(const Variables& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return words;
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

}  // namespace

Mps::Mps(MpsOptions options) : options_(std::move(options)) {
  if (options_.control.empty()) {
    why_not_ = "nvidia-cuda-mps-control is in no folder of berthd's PATH";
    return;
  }
  ::mkdir(options_.folder.c_str(), 0711);
  for (const std::string& name : names_in(options_.folder)) {
    if (!name.ends_with(".jobs")) continue;
    const std::string server = name.substr(0, name.size() - 5);
    for (const std::string& file : names_in(jobs_of(server))) {
      std::ifstream text(jobs_of(server) + "/" + file);
      std::int64_t most = 0;
      text >> most;
      if (const auto job = job_of(file)) clients_[*job] = {.server = server, .most = Bytes(most)};
    }
  }
}

Bytes Mps::most_of(JobId job) const {
  const auto found = clients_.find(job);
  return found == clients_.end() ? Bytes(0) : found->second.most;
}

Expected<Variables> Mps::begin(const MpsClient& client) {
  const std::string server = server_of(client);
  const std::string folder = folder_of(server);
  const auto before = clients_.find(client.job);
  if (before != clients_.end() && before->second.server != server) forget(client.job);
  reap_leaving();
  ::mkdir(jobs_of(server).c_str(), 0700);
  std::ofstream file(jobs_of(server) + "/" + std::to_string(client.job.value()));
  file << client.most.raw() << '\n';
  file.close();
  if (!file.good()) return io_error(jobs_of(server));
  clients_[client.job] = {.server = server, .most = client.most};
  if (!has_control(folder)) {
    if (auto started = start(server, client); !started) {
      forget(client.job);
      return std::unexpected(started.error());
    }
  }
  Variables variables = pipes_of(folder);
  variables.emplace_back("CUDA_VISIBLE_DEVICES", visible_to(client));
  if (client.most > Bytes(0)) {
    variables.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits_of(client));
  }
  return variables;
}

Expected<void> Mps::start(const std::string& server, const MpsClient& client) {
  const std::string folder = folder_of(server);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return io_error(folder);
  if (::geteuid() == 0 && ::chown(folder.c_str(), client.user, client.group) != 0) {
    return io_error(folder);
  }
  ::unlink((folder + kPidFile).c_str());  // of one that was killed
  Variables variables = options_.environment;
  for (auto& variable : pipes_of(folder)) variables.push_back(std::move(variable));
  variables.emplace_back("CUDA_VISIBLE_DEVICES", visible_to(client));
  auto pidfd = spawn({.user = client.user,
                      .group = client.group,
                      .groups = client.groups,
                      .arguments = {options_.control, "-d"},
                      .environment = words_of(variables),
                      .input = ""});
  if (!pidfd) return std::unexpected(pidfd.error());
  if (does_well(*pidfd, kPatience) && has_control(folder)) return {};
  return fail(ErrorCode::Io, options_.control + " -d did not start a server in " + folder +
                                 "; its log there may say why");
}

void Mps::forget(JobId job) {
  const auto found = clients_.extract(job);
  if (!found) return;
  const std::string& server = found.mapped().server;
  ::unlink((jobs_of(server) + "/" + std::to_string(job.value())).c_str());
  end_if_idle(server);
}

void Mps::end_if_idle(const std::string& server) {
  const bool is_used = std::ranges::any_of(
      clients_, [&](const auto& client) { return client.second.server == server; });
  const std::string folder = folder_of(server);
  struct stat status{};
  if (is_used || ::stat(folder.c_str(), &status) != 0) return;
  reap_leaving();
  if (!has_control(folder)) return;
  Variables variables = options_.environment;
  for (auto& variable : pipes_of(folder)) variables.push_back(std::move(variable));
  auto pidfd = spawn({.user = status.st_uid,
                      .group = status.st_gid,
                      .groups = {},
                      .arguments = {options_.control},
                      .environment = words_of(variables),
                      .input = "quit\n"});
  if (pidfd) leaving_.push_back(std::move(*pidfd));
}

void Mps::reap_leaving() {
  std::erase_if(leaving_, [](const Descriptor& pidfd) {
    siginfo_t info{};
    const int done = ::waitid(P_PIDFD, static_cast<id_t>(pidfd.number()), &info, WEXITED | WNOHANG);
    return done != 0 || info.si_pid != 0;
  });
}

void Mps::sweep(const std::function<bool(JobId)>& is_current) {
  if (options_.control.empty()) return;
  std::vector<JobId> over;
  for (const auto& [job, client] : clients_) {
    if (!is_current(job)) over.push_back(job);
  }
  for (const JobId job : over) forget(job);
  for (const std::string& name : names_in(options_.folder)) {
    if (!name.ends_with(".jobs")) end_if_idle(name);
  }
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
