// Goal: the socket file is ours alone and has the rights that were asked for, and the peer's user
// is the one that the kernel gives. Method: files of all kinds in the socket's way; this process as
// its own peer.
#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "http/rig.hpp"
#include "support/paths.hpp"

namespace berth::http::test {
namespace {

class SocketFile : public Http {
 protected:
  /// Why a server cannot be opened there.
  Error refusal(const std::string& path) {
    const auto opened = Server::open({.path = path}, [](const std::shared_ptr<Exchange>&) {});
    if (opened) ADD_FAILURE() << path << " is served";
    return opened ? Error{} : opened.error();
  }

  Peer peer_seen() {
    Held held;
    serve(held.handler());
    RawPeer peer(path_);
    peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto exchange = held.take();
    const Peer seen = exchange->request().peer;
    server_.reset();
    return seen;
  }
};

mode_t mode_of(const std::string& path) {
  struct stat file = {};
  EXPECT_EQ(stat(path.c_str(), &file), 0) << path;
  return file.st_mode & 07777;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(getgroups(0, nullptr)));
  EXPECT_GE(getgroups(static_cast<int>(groups.size()), groups.data()), 0);
  return groups;
}

/// Leaves the file that a killed server leaves.
void leave_stale_socket(const std::string& path) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(bind(socket.number(), generic, sizeof(address)), 0);
}

TEST_F(SocketFile, AServerThatIsClosedAsItLooksForItsFileEnds) {
  std::atomic<bool> is_busy = false;
  serve([&](const std::shared_ptr<Exchange>&) {
    is_busy = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the next look is due by then
  });
  RawPeer peer(path_);
  peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return is_busy.load(); }));
  server_.reset();  // without end where the look found the file gone and listened anew
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SocketFile, ThePeerIsThisProcess) {
  const Peer peer = peer_seen();
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(peer.user, geteuid());
  EXPECT_EQ(peer.group, getegid());
  EXPECT_EQ(peer.groups, own_groups());
}

TEST_F(SocketFile, ManySupplementaryGroups) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may choose its groups";
  const std::vector<gid_t> before = own_groups();
  std::vector<gid_t> many;
  for (gid_t group = 1000; group < 1100; ++group) many.push_back(group);
  ASSERT_EQ(setgroups(many.size(), many.data()), 0);
  EXPECT_EQ(peer_seen().groups, many);
  ASSERT_EQ(setgroups(0, nullptr), 0);
  EXPECT_EQ(peer_seen().groups, std::vector<gid_t>());
  ASSERT_EQ(setgroups(before.size(), before.data()), 0);
}

TEST_F(SocketFile, HasTheModeAskedFor) {
  for (const mode_t mode : {0600U, 0660U, 0666U}) {
    for (const mode_t mask : {0000U, 0022U, 0777U}) {
      const mode_t before = umask(mask);
      const auto server =
          Server::open({.path = path_, .mode = mode}, [](const std::shared_ptr<Exchange>&) {});
      umask(before);
      ASSERT_TRUE(server) << server.error().message;
      EXPECT_EQ(mode_of(path_), mode);
    }
  }
}

TEST_F(SocketFile, GoesWithTheServer) {
  serve_echo();
  EXPECT_TRUE(std::filesystem::exists(path_));
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SocketFile, OfAnotherIsNotRemoved) {
  serve_echo();
  ASSERT_TRUE(std::filesystem::remove(path_));
  leave_stale_socket(path_);
  server_.reset();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFile, NobodyAnswersOnIsReplaced) {
  leave_stale_socket(path_);
  serve_echo();
  EXPECT_EQ(client().request("GET", "/")->status, 200);
}

TEST_F(SocketFile, SomebodyAnswersOnIsNot) {
  serve_echo();
  const Error error = refusal(path_);
  EXPECT_EQ(error.code, ErrorCode::Conflict);
  EXPECT_EQ(error.message, path_ + ": another berthd answers there");
  EXPECT_EQ(client().request("GET", "/")->status, 200);
}

TEST_F(SocketFile, AnotherFileIsLeftAlone) {
  folder_.write("berth.sock", "precious");
  const Error error = refusal(path_);
  EXPECT_EQ(error.code, ErrorCode::Io);
  EXPECT_EQ(error.message, path_ + ": exists and is not a socket; it is left as it is");
  EXPECT_EQ(berth::test::read_file(path_), "precious");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("nowhere", path_);
  EXPECT_EQ(refusal(path_).code, ErrorCode::Io);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(SocketFile, NeedsItsFolder) {
  const std::string path = folder_ / "absent/berth.sock";
  const Error error = refusal(path);
  EXPECT_EQ(error.code, ErrorCode::Io);
  EXPECT_EQ(error.message, path + ": its folder cannot be opened: No such file or directory");
  EXPECT_EQ(refusal("").code, ErrorCode::Io);
  EXPECT_EQ(refusal(folder_ / "").code, ErrorCode::Io);
}

TEST_F(SocketFile, ItsPathMayBeLong) {
  std::filesystem::path deep = folder_.path();
  for (int i = 0; i < 10; ++i) deep /= std::string(50, static_cast<char>('a' + i));
  std::filesystem::create_directories(deep);
  const std::string path = (deep / "berth.sock").string();
  auto opened = Server::open({.path = path}, [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(echo(*exchange));
  });
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(refusal(path).code, ErrorCode::Conflict);
  auto peer = Client::open(path);
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->request("GET", "/deep")->body, "GET /deep\n");
  opened->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(Client::open(path).error().code, ErrorCode::NotFound);
}

TEST_F(SocketFile, ItsNameMayNot) {
  const std::string path = folder_ / std::string(100, 'n');
  const Error error = refusal(path);
  EXPECT_EQ(error.code, ErrorCode::Io);
  EXPECT_NE(error.message.find("has 100 characters"), std::string::npos) << error.message;
  EXPECT_EQ(Client::open(path).error().code, ErrorCode::Io);
}

TEST_F(SocketFile, OfTwoThatStartAtOnceOneServes) {
  leave_stale_socket(path_);
  std::atomic<int> serving = 0;
  std::atomic<int> conflicts = 0;
  std::array<std::unique_ptr<Server>, 4> servers;
  std::vector<std::thread> threads;
  for (auto& server : servers) {
    threads.emplace_back([&] {
      auto opened = Server::open({.path = path_}, [](const std::shared_ptr<Exchange>&) {});
      if (!opened) {
        if (opened.error().code == ErrorCode::Conflict) ++conflicts;
        return;
      }
      server = std::move(*opened);
      ++serving;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(serving, 1);
  EXPECT_EQ(conflicts, 3);
}

/// A user who may read a folder can lock it.
TEST_F(SocketFile, ALockedFolderIsNoObstacle) {
  const Descriptor folder(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(folder.number(), LOCK_EX | LOCK_NB), 0);
  serve_echo();
  EXPECT_EQ(client().request("GET", "/")->status, 200);
}

TEST_F(SocketFile, TheLockOfItsStartIsForItsOwnerAndDoesNotStay) {
  folder_.write("berth.sock.lock", "");
  std::filesystem::permissions(path_ + ".lock", std::filesystem::perms::all);
  const Descriptor held(open((path_ + ".lock").c_str(), O_RDONLY));
  ASSERT_EQ(flock(held.number(), LOCK_EX | LOCK_NB), 0);
  const Error error = refusal(path_);
  EXPECT_EQ(error.message, path_ + ".lock: another berthd has locked it for 2 seconds");
  EXPECT_EQ(mode_of(path_ + ".lock"), 0600U);
  flock(held.number(), LOCK_UN);
  serve_echo();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
}

TEST_F(SocketFile, ALockOfAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  folder_.write("berth.sock.lock", "");
  ASSERT_EQ(chown((path_ + ".lock").c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(path_).message,
            path_ + ".lock: exists and is of another user; it is left as it is");
  EXPECT_TRUE(std::filesystem::exists(path_ + ".lock"));
}

TEST_F(SocketFile, ThatWasDeletedComesBack) {
  serve_echo();
  Client before = client();
  ASSERT_EQ(before.request("GET", "/")->status, 200);
  ASSERT_TRUE(std::filesystem::remove(path_));
  ASSERT_TRUE(eventually([&] { return Client::open(path_).has_value(); }));
  EXPECT_EQ(client().request("GET", "/")->status, 200);
  EXPECT_EQ(before.request("GET", "/")->status, 200);
  EXPECT_EQ(mode_of(path_), 0600U);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SocketFile, ThatWasDeletedWithItsFolderComesBackWithIt) {
  const std::string path = folder_ / "deep/berth.sock";
  std::filesystem::create_directory(folder_ / "deep");
  auto opened = Server::open({.path = path}, [](const std::shared_ptr<Exchange>&) {});
  ASSERT_TRUE(opened) << opened.error().message;
  std::filesystem::remove_all(folder_ / "deep");
  std::filesystem::create_directory(folder_ / "deep");
  EXPECT_TRUE(eventually([&] { return Client::open(path).has_value(); }));
}

TEST_F(SocketFile, TheServerStartsAndStopsAtOnce) {
  for (int i = 0; i < 50; ++i) {
    serve_echo();
    server_.reset();
  }
}

}  // namespace
}  // namespace berth::http::test
