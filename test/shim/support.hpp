// Plays the daemon and the `berth run` of one shim, in a folder of its own. Every wait has a
// generous deadline; what still lives at the end of a test is killed.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "shim/attach.hpp"
#include "shim/order.hpp"
#include "shim/record.hpp"
#include "support/process.hpp"

namespace berth::shim::test {

using berth::test::ScratchFolder;

inline constexpr uid_t kSomebody = 54321;  ///< Neither root nor anybody who is there.

/// A descriptor that closes itself.
class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  File(File&& other) noexcept : number_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File() { close(); }
  int number() const { return number_; }
  void close();
  int release();

 private:
  int number_;
};

/// A named pipe by which a job tells a test where it is, or waits for it.
class Fifo {
 public:
  explicit Fifo(std::string path);
  const std::string& path() const { return path_; }
  /// The next line that a process writes, without its newline.
  std::string line();
  void write(const std::string& text);

 private:
  std::string path_;
  File file_;
};

/// A shim as its daemon sees it.
class Daemon {
 public:
  Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  const ScratchFolder& folder() const { return folder_; }
  pid_t shim() const { return shim_; }

  /// An order for `sh -c SCRIPT` as the user of the test.
  Order shell(const std::string& script) const;
  void start(const Order& order);
  void send_bytes(const std::string& bytes);
  /// Daemons die.
  void hang_up() { socket_.close(); }
  void signal(int number);
  /// Leaves a request to attach and tells the shim.
  void attach(const Attach& client);

  Process started();
  Ended ended();
  /// Why nothing of it ran, where another try may.
  std::string unstarted();
  /// Starts it and waits for its end.
  Ended run(const Order& order);
  /// Waits for the shim itself. Returns: its exit code; 128 + the signal of one that was killed.
  int gone();

  std::string log() const;
  Record record() const;
  bool is_locked() const;

 private:
  Event next_event();

  ScratchFolder folder_;
  File socket_;
  pid_t shim_ = -1;
};

/// `berth run` as a shim sees it.
class Client {
 public:
  /// Listens as `user`, which only root can do for others.
  explicit Client(std::string path, uid_t user = geteuid());
  const std::string& path() const { return path_; }
  void accept();
  void hang_up() { socket_.close(); }

  void send(FrameKind kind, const std::string& bytes);
  void send_bytes(const std::string& bytes);
  /// The next frame; nothing once the shim closed.
  std::optional<Frame> next();
  /// All Output frames up to and with the one that completes `text`.
  std::string output_until(const std::string& text);
  /// All frames up to the end, joined by kind.
  struct Heard {
    std::string output;
    std::string error;
    int exit = -1;
  };
  Heard rest();

 private:
  std::string path_;
  File listener_;
  File socket_;
  FrameReader reader_;
};

/// Waits until something can be read, or has ended; fails the test at the deadline.
bool can_read(int file);
/// Readable once the process ended.
File watch_process(pid_t pid);
/// No such process, not even a zombie.
bool is_gone(pid_t pid);
bool is_root();

}  // namespace berth::shim::test
