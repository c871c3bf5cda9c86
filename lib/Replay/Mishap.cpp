//===- Mishap.cpp - A process that ends in the middle of a step -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates what a system, a cable or a bug may do to a process.
//
//===----------------------------------------------------------------------===//
#include "Mishap.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace bagua::replay {
namespace {

/// The size of packets with heartbeats, and of calls without data.
constexpr uint32_t kSmallBytes = 600;

std::vector<int> openDescriptors() {
  std::vector<int> descriptors;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd", ignored))
    descriptors.push_back(std::atoi(entry.path().filename().c_str()));
  return descriptors;
}

/// Drops packets of more than `most` bytes that arrive on one connection to
/// another host. Only sockets to other hosts have a limit for unacknowledged
/// data, so that limit identifies them.
void drop(uint32_t most) {
  std::array<sock_filter, 4> code = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, 0),
      sock_filter BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
  const sock_fprog program = {code.size(), code.data()};
  // The last such socket belongs to a communicator that steps use.
  std::vector<int> descriptors = openDescriptors();
  std::sort(descriptors.begin(), descriptors.end(), std::greater<>());
  for (int descriptor : descriptors) {
    int limit = 0;
    socklen_t size = sizeof limit;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, &size) ==
            0 &&
        limit > 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof program) == 0)
      return;
  }
}

/// The process's threads.
std::vector<pid_t> threadsOf(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(
           absl::StrFormat("/proc/%d/task", process), ignored))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

/// Whether the thread is in poll(), as only the control plane's thread is.
bool isPolling(pid_t process, pid_t thread) {
  int call = -1;
  std::ifstream(absl::StrFormat("/proc/%d/task/%d/syscall", process, thread)) >>
      call;
  return call == SYS_poll;
}

/// Stops these threads of another process for as long as this process lives.
/// Threads that are gone are ignored.
void hold(const std::vector<pid_t> &threads) {
  for (pid_t thread : threads)
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 &&
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0)
      waitpid(thread, nullptr, __WALL);
}

/// Does something to each connection, as if to all at once: in between, other
/// threads could report a rank that has ended because of the first one. So a
/// child process stops them meanwhile. One may hold the allocator's lock then,
/// so `act` allocates nothing.
void doToAll(const std::function<void(int descriptor)> &act) {
  const std::vector<int> descriptors = openDescriptors();
  const pid_t process = getpid(), own = gettid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  std::array<int, 2> held = {};
  const pid_t holder = pipe(held.data()) == 0 ? fork() : -1;
  if (holder < 0)
    std::abort();
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<pid_t> threads = threadsOf(process);
    threads.erase(std::remove(threads.begin(), threads.end(), own),
                  threads.end());
    hold(threads);
    [[maybe_unused]] ssize_t told = write(held[1], "", 1);
    while (getppid() == process)
      pause();
    _exit(0);
  }
  close(held[1]);
  char byte = 0;
  [[maybe_unused]] ssize_t got = read(held[0], &byte, 1);
  for (int descriptor : descriptors)
    act(descriptor);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
}

/// Breaks all connections while the process doesn't know it yet. As with a
/// cable, no connection is left on which the process could report the others.
void disconnect() {
  doToAll([](int descriptor) { shutdown(descriptor, SHUT_RDWR); });
}

/// Sends random bytes on every connection; a send on any other descriptor
/// fails.
void sendGarbage() {
  std::array<char, 4096> bytes;
  std::mt19937 random(7);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  doToAll([&](int descriptor) {
    send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

/// Stops threads as if pages that they touch never arrived. A child process
/// traces them until this process ends.
void freeze() {
  constexpr int kMostMicroseconds = 3000;
  const pid_t process = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (fork() != 0)
    return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::random_device()() % kMostMicroseconds));
  std::vector<pid_t> threads = threadsOf(process);
  auto polling = threads.end();
  while (polling == threads.end() && getppid() == process)
    polling = std::find_if(threads.begin(), threads.end(), [&](pid_t thread) {
      return isPolling(process, thread);
    });
  const pid_t spared = polling == threads.end() ? 0 : *polling;
  threads.erase(std::remove(threads.begin(), threads.end(), spared),
                threads.end());
  hold(threads);
  while (getppid() == process)
    pause();
  _exit(0);
}

bool readCount(const std::string &text, int64_t &to) {
  return absl::SimpleAtoi(text, &to) && to >= 0;
}

} // namespace

std::optional<Mishap> parseMishap(const std::string &text) {
  using Kind = Mishap::Kind;
  static const std::map<std::string, Kind> kinds = {
      {"kill", Kind::Kill},       {"stop", Kind::Stop},
      {"exit", Kind::Exit},       {"disconnect", Kind::Disconnect},
      {"garbage", Kind::Garbage}, {"stick", Kind::Stick},
      {"freeze", Kind::Freeze},   {"cut", Kind::Cut},
      {"eat", Kind::Eat}};
  std::vector<std::string> parts = absl::StrSplit(text, ':');
  Mishap mishap;
  if (parts.size() != 4 || kinds.count(parts[3]) == 0 ||
      !readCount(parts[0], mishap.rank) || !readCount(parts[1], mishap.step) ||
      !readCount(parts[2], mishap.instruction))
    return std::nullopt;
  mishap.kind = kinds.at(parts[3]);
  return mishap;
}

void happen(Mishap::Kind kind,
            const std::function<void(const std::string &)> &say) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (say)
    say(absl::StrFormat("mishap at %.3f s",
                        std::chrono::duration<double>(now).count()));
  switch (kind) {
  case Mishap::Kind::Kill:
    kill(getpid(), SIGKILL);
    return;
  case Mishap::Kind::Stop:
    kill(getpid(), SIGSTOP);
    return;
  case Mishap::Kind::Exit:
    _exit(3);
  case Mishap::Kind::Disconnect:
    return disconnect();
  case Mishap::Kind::Garbage:
    return sendGarbage();
  case Mishap::Kind::Stick:
    while (true)
      pause();
  case Mishap::Kind::Freeze:
    return freeze();
  case Mishap::Kind::Cut:
    return drop(0);
  case Mishap::Kind::Eat:
    return drop(kSmallBytes);
  }
}

} // namespace bagua::replay
