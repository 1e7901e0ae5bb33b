#include "daemon/attempts/container.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace berth::daemon {

namespace {

constexpr std::size_t kShortId = 12;  ///< As `docker ps` and `podman ps` show them.
constexpr std::size_t kLongId = 64;
constexpr std::size_t kLongestName = 64;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_id(std::string_view text) {
  return text.size() == kLongId && std::ranges::all_of(text, is_hex);
}
bool is_name(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '@';
  };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, is_plain);
}

/// `PREFIX...SUFFIX` without both; nothing if it is not that.
std::optional<std::string_view> between(std::string_view text, std::string_view prefix,
                                        std::string_view suffix) {
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix)) {
    return std::nullopt;
  }
  text.remove_prefix(prefix.size());
  text.remove_suffix(suffix.size());
  return text;
}

/// `libpod-ID.scope`: what runtimes call a container's scope under systemd.
struct Scope {
  std::string_view prefix;
  std::string_view runtime;
};
constexpr auto kScopes = std::to_array<Scope>({{"docker-", "docker"},
                                               {"libpod-", "podman"},
                                               {"cri-containerd-", "containerd"},
                                               {"nerdctl-", "containerd"},
                                               {"crio-", "cri-o"}});
/// `/docker/ID`: without systemd a container's group is in its runtime's.
constexpr auto kParents = std::to_array<Scope>(
    {{"docker", "docker"}, {"libpod_parent", "podman"}, {"containerd", "containerd"}});

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

std::optional<Scope> container_in(std::string_view part, std::string_view parent) {
  for (const Scope& scope : kScopes) {
    const auto id = between(part, scope.prefix, ".scope");
    if (id && is_id(*id)) return Scope{*id, scope.runtime};
    if (part.starts_with(scope.prefix) && is_id(part.substr(scope.prefix.size()))) {
      return Scope{part.substr(scope.prefix.size()), scope.runtime};
    }
  }
  if (is_id(part)) {
    for (const Scope& known : kParents) {
      if (parent == known.prefix) return Scope{part, known.runtime};
    }
    return Scope{part, "container"};
  }
  for (const std::string_view runtime : {"apptainer", "singularity"}) {
    auto number = between(part, std::string(runtime) + "-", ".scope");
    if (!number && parent == runtime) number = part;
    const bool is_number = number && !number->empty() && number->size() <= kLongestName &&
                           number->find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number) return Scope{*number, runtime};
  }
  if (const auto name = between(part, "lxc.payload.", ""); name && is_name(*name)) {
    return Scope{*name, "lxc"};
  }
  if (parent == "lxc" && is_name(part)) return Scope{part, "lxc"};
  if (const auto name = between(part, "machine-", ".scope"); name && is_name(*name)) {
    return Scope{*name, "machine"};
  }
  return std::nullopt;
}

/// `pod1234...` of Kubernetes, also within `kubepods-burstable-pod1234_....slice`.
std::string pod_in(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(6);
  const std::size_t at = part.starts_with("pod") ? 0 : part.rfind("-pod");
  if (at == std::string_view::npos) return "";
  std::string uid(part.substr(at + (part.starts_with("pod") ? 3 : 4)));
  std::ranges::replace(uid, '_', '-');
  const bool is_uid = uid.size() >= 32 && uid.size() <= 36 &&
                      std::ranges::all_of(uid, [](char c) { return is_hex(c) || c == '-'; });
  return is_uid ? uid : "";
}

std::optional<uid_t> login_in(std::string_view part) {
  const auto number = between(part, "user-", ".slice");
  uid_t user = 0;
  if (!number) return std::nullopt;
  const auto read = std::from_chars(number->data(), number->data() + number->size(), user);
  const bool is_whole = read.ec == std::errc() && read.ptr == number->data() + number->size();
  return is_whole ? std::optional(user) : std::nullopt;
}

Surrounding of_path(std::string_view path) {
  Surrounding where;
  std::string_view parent;
  bool is_kubernetes = false;
  for (const std::string_view part : path_parts(path)) {
    if (const auto user = login_in(part)) where.login = user;
    is_kubernetes = is_kubernetes || part == "kubepods" || part.starts_with("kubepods.slice");
    if (std::string pod = pod_in(part); is_kubernetes && !pod.empty()) where.pod = std::move(pod);
    if (const auto found = container_in(part, parent)) {  // the innermost counts
      const bool is_long = is_id(found->prefix);
      where.runtime = found->runtime;
      where.id = std::string(is_long ? found->prefix.substr(0, kShortId) : found->prefix);
    }
    if (part.ends_with(".service") && is_name(part)) where.service = part;
    parent = part;
  }
  if (is_kubernetes && (!where.id.empty() || !where.pod.empty())) where.runtime = "kubernetes";
  // A session's or a user manager's own service says no more than the user does.
  const bool is_own = where.login || !where.runtime.empty();
  if (is_own) where.service.clear();
  return where;
}

}  // namespace

Surrounding surrounding_of(std::string_view cgroups) {
  Surrounding best;
  for (std::size_t at = 0; at < cgroups.size();) {
    const std::size_t end = std::min(cgroups.find('\n', at), cgroups.size());
    const std::string_view line = cgroups.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    Surrounding here = of_path(line.substr(second + 1));
    if (best.runtime.empty() && !here.runtime.empty()) {
      best.runtime = std::move(here.runtime);
      best.id = std::move(here.id);
      best.pod = std::move(here.pod);
    }
    if (best.service.empty()) best.service = std::move(here.service);
    if (!best.login) best.login = here.login;
  }
  if (!best.runtime.empty() || best.login) best.service.clear();
  return best;
}

std::string text_of(const Surrounding& where) {
  if (where.runtime.empty()) return where.service;
  const std::string pod = where.pod.empty() ? "" : "pod " + where.pod.substr(0, kShortId);
  if (where.id.empty()) return where.runtime + " " + pod;
  return where.runtime + " " + pod + (pod.empty() ? "" : "/") + where.id;
}

}  // namespace berth::daemon
