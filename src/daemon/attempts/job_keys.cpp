#include "daemon/attempts/job_keys.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "core/base/sha256.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kKeyDigits = 32;  ///< Half of the sum, which cannot be continued therefore.

bool is_secret(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 2 * kSecretBytes && std::ranges::all_of(text, is_digit);
}

Expected<std::string> new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return io_error("getrandom");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", byte);
    text += hex.data();
  }
  return text;
}

}  // namespace

Expected<JobKeys> JobKeys::open(const std::string& path) {
  if (std::string known = read_small_file(path); is_secret(known)) return JobKeys(std::move(known));
  auto secret = new_secret();
  if (!secret) return std::unexpected(secret.error());
  const std::string draft = path + ".new";
  const Descriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return io_error(draft);
  const ssize_t written = ::write(file.number(), secret->data(), secret->size());
  if (written != static_cast<ssize_t>(secret->size())) return io_error(draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return io_error(path);
  return JobKeys(std::move(*secret));
}

std::string JobKeys::key_of(JobId job) const {
  const std::string number = std::to_string(job.value());
  return number + "-" + sha256(secret_ + ":job:" + number).substr(0, kKeyDigits);
}

std::optional<JobId> JobKeys::job_of(std::string_view key) const {
  std::uint64_t number = 0;
  const auto read = std::from_chars(key.data(), key.data() + key.size(), number);
  if (read.ec != std::errc() || key_of(JobId(number)) != key) return std::nullopt;
  return JobId(number);
}

}  // namespace berth::daemon
