// Goal: a stream's pieces arrive as they are written, its end is seen on both sides, and neither a
// peer that vanishes nor one that does not read costs more than its backlog.
// Method: a handler that gives its stream to the test's thread; waiting is for conditions.
#include <atomic>
#include <thread>
#include <vector>

#include "http/rig.hpp"

namespace berth::http::test {
namespace {

class Streams : public Http {
 protected:
  void serve_held(const Limits& limits = {}) { serve(held_.handler(), limits); }

  /// The server's side of the next request.
  std::shared_ptr<Stream> next(const std::string& type = "text/plain") {
    return held_.take()->stream(type);
  }

  Held held_;
};

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(Streams, PiecesArriveOneByOne) {
  serve_held();
  RawPeer peer(path_);
  peer.send(kGet);
  const auto stream = next("text/event-stream");
  EXPECT_EQ(peer.receive_until("\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            "Cache-Control: no-store\r\n\r\n");
  ASSERT_TRUE(stream->write("one"));
  EXPECT_EQ(peer.receive_until("one\r\n"), "3\r\none\r\n");
  ASSERT_TRUE(stream->write("sixteen letters."));
  EXPECT_EQ(peer.receive_until(".\r\n"), "10\r\nsixteen letters.\r\n");
  EXPECT_TRUE(eventually([&] { return stream->queued() == 0; }));
  stream->close();
  EXPECT_FALSE(stream->is_open());
  EXPECT_FALSE(stream->write("more"));
  EXPECT_EQ(peer.receive_until("0\r\n\r\n"), "0\r\n\r\n");
  peer.send(kGet);  // the connection goes on
  held_.take()->respond({.body = "next"});
  EXPECT_TRUE(peer.receive_until("next").ends_with("next"));
}

TEST_F(Streams, TheClientGetsEachPieceAsItComes) {
  serve_held();
  std::thread writer([&] {
    const auto stream = next();
    for (const char* piece : {"a", "b", "c"}) {
      stream->write(piece);
      EXPECT_TRUE(eventually([&] { return stream->queued() == 0; }));
    }
    stream->close();
  });
  std::string all;
  Client peer = client();
  const auto answer = peer.stream("GET", "/", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  writer.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(all, "abc");
  EXPECT_NE(peer.descriptor(), -1);
}

TEST_F(Streams, TheOrderOfManyWritersPiecesIsKept) {
  serve_held({.backlog = 64 * 1024 * 1024});
  constexpr int pieces = 5000;
  std::thread writer([&] {
    const auto stream = next();
    for (int i = 0; i < pieces; ++i) stream->write(std::to_string(i) + "\n");
    stream->close();
  });
  std::string expected;
  for (int i = 0; i < pieces; ++i) expected += std::to_string(i) + "\n";
  std::string all;
  const auto answer = client().stream("GET", "/", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  writer.join();
  EXPECT_TRUE(answer);
  EXPECT_TRUE(all == expected);
}

TEST_F(Streams, ManyThreadsWriteOneStream) {
  serve_held();
  std::thread writers([&] {
    const auto stream = next();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 500; ++j) stream->write("line\n");
      });
    }
    for (std::thread& thread : threads) thread.join();
    stream->close();
  });
  std::string all;
  const auto answer = client().stream("GET", "/", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  writers.join();
  EXPECT_TRUE(answer);
  EXPECT_EQ(all.size(), 4 * 500 * std::string_view("line\n").size());
}

TEST_F(Streams, DroppingAStreamClosesIt) {
  serve_held();
  RawPeer peer(path_);
  peer.send(kGet);
  next()->write("only");
  EXPECT_TRUE(peer.receive_until("0\r\n\r\n").ends_with("\r\n\r\n4\r\nonly\r\n0\r\n\r\n"));
}

TEST_F(Streams, WithoutChunksForOldClients) {
  serve_held();
  RawPeer peer(path_);
  peer.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto stream = next();
  stream->write("one ");
  stream->write("two");
  stream->close();
  const std::string answer = peer.receive_all();
  EXPECT_EQ(answer.find("chunked"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\none two")) << answer;
}

TEST_F(Streams, HeadHasTheHeaderOnly) {
  serve_held();
  RawPeer peer(path_);
  peer.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto stream = next();
  EXPECT_TRUE(peer.receive_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_FALSE(stream->is_open());
  peer.send(kGet);
  held_.take()->respond({.body = "in step"});
  EXPECT_TRUE(peer.receive_until("in step").starts_with("HTTP/1.1 200 "));
}

TEST_F(Streams, APeerThatVanishesIsNoticedWhileNothingIsWritten) {
  serve_held();
  auto peer = std::make_unique<RawPeer>(path_);
  peer->send(kGet);
  const auto stream = next();
  peer->receive_until("\r\n\r\n");
  EXPECT_TRUE(stream->is_open());
  peer.reset();
  EXPECT_TRUE(eventually([&] { return !stream->is_open(); }));
  EXPECT_FALSE(stream->write("lost"));
  EXPECT_EQ(stream->queued(), 0U);
}

TEST_F(Streams, APeerThatVanishedBeforeTheStreamBeganIsNoticed) {
  serve_held();
  auto peer = std::make_unique<RawPeer>(path_);
  peer->send(kGet);
  const auto exchange = held_.take();
  peer.reset();
  const auto stream = exchange->stream("text/plain");
  EXPECT_TRUE(eventually([&] { return !stream->is_open(); }));
}

TEST_F(Streams, WhatAPeerSendsMeanwhileIsForLater) {
  serve_held();
  RawPeer peer(path_);
  peer.send(kGet);
  const auto stream = next();
  peer.receive_until("\r\n\r\n");
  peer.send(kGet);
  stream->write("still open");
  EXPECT_EQ(peer.receive_until("open\r\n"), "a\r\nstill open\r\n");
  stream->close();
  held_.take()->respond({.body = "second"});
  EXPECT_TRUE(peer.receive_until("second").ends_with("second"));
}

TEST_F(Streams, APeerThatDoesNotReadIsDropped) {
  serve_held({.backlog = 100'000});
  RawPeer peer(path_);
  peer.send(kGet);
  const auto stream = next();
  int pieces = 0;
  while (stream->write(std::string(10'000, 'x'))) {
    EXPECT_LE(stream->queued(), 100'000U);
    ASSERT_LT(++pieces, 1000);  // what the socket itself holds is far below 10 MB
  }
  EXPECT_FALSE(stream->is_open());
  EXPECT_EQ(peer.receive_all().find("0\r\n\r\n"), std::string::npos);  // it sees no proper end
}

TEST_F(Streams, AStreamThatNeverPausesLeavesOthersTheirTurn) {
  std::atomic<bool> is_over = false;
  std::atomic<int> written = 0;
  std::thread writer;
  serve([&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/stream") {
      exchange->respond(echo(*exchange));
      return;
    }
    writer = std::thread([&, stream = exchange->stream("text/plain")] {
      while (!is_over) {
        if (stream->queued() < 500'000) written += stream->write(std::string(1000, 'x'));
      }
    });
  });
  RawPeer reader(path_);
  reader.send("GET /stream HTTP/1.0\r\n\r\n");
  std::thread reading([&] { EXPECT_TRUE(reader.receive_all().ends_with("xxx")); });
  EXPECT_TRUE(eventually([&] { return written > 1000; }));
  Client other = client();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(other.request("GET", "/x")->body, "GET /x\n");
  is_over = true;
  writer.join();
  reading.join();
}

TEST_F(Streams, AClosedStreamThatNobodyReadsEnds) {
  serve_held({.connections = 1, .idle = Duration(50'000)});
  RawPeer deaf(path_);
  deaf.send(kGet);
  {
    const auto stream = next();
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(stream->write(std::string(100'000, 'x')));
  }
  const auto is_refused = [&] { return RawPeer(path_).receive_all().starts_with("HTTP/1.1 503 "); };
  EXPECT_TRUE(is_refused());
  EXPECT_TRUE(eventually([&] { return !is_refused(); }));  // its place is free again
}

TEST_F(Streams, TheClientStopsWhenItHasEnough) {
  serve_held();
  std::shared_ptr<Stream> stream;
  std::thread writer([&] {
    stream = next();
    stream->write("first");
  });
  int pieces = 0;
  Client peer = client();
  const auto answer = peer.stream("GET", "/", [&](std::string_view piece) {
    EXPECT_EQ(piece, "first");
    ++pieces;
    return false;
  });
  writer.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(pieces, 1);
  EXPECT_EQ(peer.descriptor(), -1);
  EXPECT_TRUE(eventually([&] { return !stream->is_open(); }));
}

TEST_F(Streams, AnErrorInsteadOfAStreamComesAsABody) {
  serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 404, .body = error_body("job 7: is not known")});
  });
  const auto answer = client().stream("GET", "/v1/jobs/7/log", [](std::string_view) {
    ADD_FAILURE() << "an error is no piece";
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, error_body("job 7: is not known"));
}

TEST_F(Streams, AnAnswerWithALengthComesInPiecesToo) {
  serve_echo();
  std::string all;
  const auto answer = client().stream("GET", "/x", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(all, "GET /x\n");
}

TEST_F(Streams, TheServerGoesWhileStreamsAreOpen) {
  serve_held();
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(std::make_unique<RawPeer>(path_));
    peers.back()->send(kGet);
    streams.push_back(next());
  }
  std::atomic<bool> is_writing = true;
  std::thread writer([&] {
    while (is_writing) {
      for (const auto& stream : streams) stream->write("line\n");
    }
  });
  server_.reset();
  is_writing = false;
  writer.join();
  for (const auto& stream : streams) {
    EXPECT_FALSE(stream->is_open());
    EXPECT_FALSE(stream->write("lost"));
  }
  for (const auto& peer : peers) peer->receive_all();
}

TEST_F(Streams, TheClientSeesThatTheServerWent) {
  serve_held();
  std::thread writer([&] {
    const auto stream = next();
    stream->write("half");
    EXPECT_TRUE(eventually([&] { return stream->queued() == 0; }));
    server_.reset();
  });
  std::string all;
  Client peer = client();
  const auto answer = peer.stream("GET", "/", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  writer.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Io);
  EXPECT_EQ(all, "half");
}

}  // namespace
}  // namespace berth::http::test
