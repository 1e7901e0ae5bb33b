// Tells users of their jobs: a command, a web address or mail, when a job starts, ends or fails.
// doc/notifications.md.
//
// Each message is sent by a process of the job's user (`berthd --announce`), which has kPatience to
// do it; a few run at once and the rest waits. Nothing waits for them. What was under way when
// berthd ended is not sent again. Belongs to the engine's thread.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/handle.hpp"
#include "daemon/loop/helper_runs.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/settings/options.hpp"
#include "live/command.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// The one argument of the process.
inline constexpr const char* kAnnounce = "--announce";

/// Who is to be told.
enum class Listener : std::uint8_t { User, Administrator };

/// A program to be run, as one of the job's user.
struct Message {
  live::Credentials as;
  std::string directory;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string input;  ///< Of its standard input.

  bool operator==(const Message&) const = default;
};
std::string encode(const Message& message);
/// Errors: BadData for bytes that encode() did not write.
Expected<Message> decode_message(std::string_view bytes);

/// What is said of a job, as `describe` gives it.
struct News {
  live::Occasion occasion = live::Occasion::End;
  std::string job;  ///< JSON of doc/openapi.yaml.
};
/// How `to` gets the news: a web address by curl, a mail address by sendmail, else a command of the
/// shell. `environment` is the job's.
Message message_to(const std::string& to, const News& news, const live::Command& command,
                   const std::vector<std::string>& environment);
/// The same for the administrator's `notify_command`: nothing of the job's surroundings chooses
/// which programs run.
Message message_of_administrator(const std::string& to, const News& news,
                                 const live::Command& command);

/// Meant as a mail address, and none: `ann@`.
bool is_broken_mail_address(std::string_view to);
/// Why a message to this address may reach nobody on this machine; "" where nothing speaks against
/// it. Looks at the folders that a machine has its programs in, at no user's.
std::string why_untold(const std::string& to);

/// The process itself: becomes the user and the program that its standard input names. Returns: an
/// exit code, if it cannot.
int announce();

class Announcer : public live::Audience {
 public:
  static constexpr Duration kPatience = seconds(30);
  static constexpr std::size_t kAtOnce = 8;  ///< Beyond that only the first of each lane.
  static constexpr std::size_t kAtOnceOfLane = 4;
  static constexpr std::size_t kMostAtOnce = 256;
  static constexpr std::size_t kMostWaiting = 1000;  ///< Then the longest lane's oldest is dropped.
  static constexpr std::size_t kMostUntold = 1000;   ///< Jobs of which a failure is kept.

  struct Parts {
    Loop& loop;
    const live::Keeper& keeper;
    const Options& options;
  };
  struct Hooks {
    /// A job runs, or goes on; also those that an earlier daemon started.
    std::function<void(const Job&, const live::Command&)> began;
    std::function<Expected<std::string>(JobId)> describe;
    std::function<Expected<std::string>(const ArraySpan&)> describe_array;
  };
  /// Requires: all of them and `others` outlive it.
  Announcer(const Parts& parts, Hooks hooks, live::Audience& others);

  /// Learns what running jobs of an earlier daemon asked for, and tells of those that ended while
  /// this one came back.
  void recover(const std::vector<JobId>& ended_early);
  /// Runs a program as a user, of no job in particular.
  void run(Message message) { send({JobId(0), Listener::User, std::move(message)}); }
  /// Of one that runs on.
  void tell(JobId job, live::Occasion occasion) { announce({job, occasion}); }
  /// How the latest message of a job, or of the array that begins with it, failed since berthd
  /// began; "" if none did.
  std::string failure_of(JobId job) const;
  /// Of how many jobs and arrays that is known.
  std::size_t failures() const { return untold_.size(); }
  void on_step(const live::StepTaken& step) override;
  void on_changed(const std::vector<JobId>& jobs) override;

 private:
  struct Event {
    JobId job;
    live::Occasion occasion;
    Instant at = kNever;  ///< Of a start: when the journal says that it was.
  };
  struct Address {
    Listener listener = Listener::User;
    std::string to;
    JobId about;  ///< The job, or the first of the array.
  };
  /// Messages that wait for each other only: those of one user, to one kind of listener.
  using Lane = std::pair<uid_t, Listener>;
  struct Waiting {
    JobId job;  ///< Or the first of an array; zero: none.
    Listener listener = Listener::User;
    Message message;

    Lane lane() const { return {message.as.user, listener}; }
  };
  struct Sending {
    JobId job;
    Lane lane;
  };

  std::optional<live::Command> command_of(JobId job) const;
  std::optional<ArraySpan> array_of(JobId job) const;
  void begin(JobId job, const live::Command& command);
  void tell_all();
  bool tell_some();
  void announce(const Event& event);
  void announce_array(const Event& event, const ArraySpan& array);
  void send_to(const Address& address, const Event& event, const Expected<std::string>& job);
  void send(Waiting waiting);
  void drop_one();
  bool may_go(const Waiting& waiting) const;
  void send_next();
  void note_failure(JobId job, const std::string& why);
  void on_end(std::list<Sending>::iterator sending, const HelperEnd& end);

  const Parts parts_;
  const Hooks hooks_;
  live::Audience& others_;
  std::deque<Event> events_;  ///< To be told of, the oldest first.
  bool is_telling_ = false;   ///< The loop has slices of that.
  /// Jobs that have begun, and what those that asked for it get.
  std::map<JobId, std::optional<live::Notice>> begun_;
  std::set<JobId> begun_arrays_;  ///< Of which a job has, by their first jobs.
  std::set<JobId> ended_arrays_;  ///< Told of, while others of their jobs may be in `events_`.
  std::deque<Waiting> waiting_;
  std::list<Sending> sending_;
  std::map<JobId, std::string> untold_;
  HelperRuns runs_;  ///< What is under way ends with it: no one could end it in time.
};

}  // namespace berth::daemon
