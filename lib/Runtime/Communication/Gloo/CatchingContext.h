//===- CatchingContext.h - Gloo's connections, whatever comes to them -----===//
//
// Gloo throws where a connection is reset just when it comes to be, or says
// what no connection of Gloo's says: on a thread of its own, which ends the
// process. Anybody can do that to a port that listens. Here it ends the
// connection, as does a message that Gloo would pass over, and with it all that
// come behind. And what a stranger has begun to say at the port of who then
// connects elsewhere would be the beginning of what the peer says. Its sockets
// would stay open in programs that this one starts, and connections with them.
// And a path that is gone would be noticed by nobody for a quarter of an hour.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H

#include <gloo/common/error.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

namespace bagua::runtime {

/// What has come is no message, or none that anybody awaits.
class NoMessage final : public gloo::IoException {
public:
  using gloo::IoException::IoException;
};

class CatchingPair final : public gloo::transport::tcp::Pair {
public:
  CatchingPair(gloo::transport::tcp::Context *context,
               gloo::transport::tcp::Device *device, int rank,
               std::chrono::milliseconds timeout,
               std::chrono::milliseconds patience);
  ~CatchingPair() override;

  void handleEvents(int events) override;

  /// Of a connection that has come to be.
  const std::string &ownHost() const { return own; }
  const std::string &peerHost() const { return theirs; }

protected:
  void changeState(state nextState) noexcept override;
  bool read() override;
  void waitUntilConnected(std::unique_lock<std::mutex> &lock,
                          bool useTimeout) override;

private:
  void accept();
  void end(const std::exception_ptr &why);

  const std::chrono::milliseconds patience;
  std::string own;
  std::string theirs;
};

/// Makes such pairs.
class CatchingContext final : public gloo::transport::tcp::Context {
public:
  /// Connections end when nothing is acknowledged for `patience`.
  CatchingContext(std::shared_ptr<gloo::transport::tcp::Device> device,
                  int rank, int size, std::chrono::milliseconds patience)
      : Context(std::move(device), rank, size), patience(patience) {}

  std::unique_ptr<gloo::transport::Pair> &createPair(int rank) override;

private:
  const std::chrono::milliseconds patience;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_CATCHINGCONTEXT_H
