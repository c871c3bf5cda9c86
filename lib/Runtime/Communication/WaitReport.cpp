//===- WaitReport.cpp - How an object reports its waits -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each process has one list of reports. The signal's handler only wakes a
// thread, since a handler may do nothing else that writing a report needs.
//
//===----------------------------------------------------------------------===//
#include "Communication/WaitReport.h"

#include "Communication/ThreadName.h"

#include "bagua/Runtime/Waits.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <list>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

struct Reports {
  std::mutex mutex;
  std::list<const WaitReport *> all;
};

/// Never destroyed, since worlds may be destroyed after everything else. A fork
/// waits until no other thread uses the list, and the child begins with an
/// empty one.
Reports &reports() {
  static Reports *const known = [] {
    pthread_atfork([] { reports().mutex.lock(); },
                   [] { reports().mutex.unlock(); },
                   [] {
                     reports().all.clear();
                     reports().mutex.unlock();
                   });
    return new Reports;
  }();
  return *known;
}

/// From the start: what a thread has half made when another one forks stays so
/// in the child.
[[maybe_unused]] Reports &madeAtLoad = reports();

/// The handler wakes the thread through this descriptor; -1 if no signal was
/// asked for.
int bell = -1;
struct sigaction before;

void onSignal(int signal, siginfo_t *info, void *context) {
  const int error = errno;
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(bell, &one, sizeof one);
  errno = error;
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
}

/// USR1, SIGUSR1 or a number; 0 for anything else.
int signalOf(absl::string_view name) {
  int number = 0;
  if (absl::SimpleAtoi(name, &number))
    return number > 0 && number < NSIG ? number : 0;
  absl::ConsumePrefix(&name, "SIG");
  for (int signal = 1; signal < NSIG; ++signal)
    if (const char *abbreviated = sigabbrev_np(signal);
        abbreviated && name == abbreviated)
      return signal;
  return 0;
}

void writeAll(const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written =
        write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR)
      return;
    at += static_cast<size_t>(std::max<ssize_t>(written, 0));
  }
}

/// Writes a report each time the bell rings.
void dump() {
  nameThread("dump");
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  uint64_t count = 0;
  while (read(bell, &count, sizeof count) == sizeof count || errno == EINTR)
    writeAll(describeWaits());
}

/// Whether a program can handle the signal and continue. A fault can't be: its
/// handler would return to the same fault. Stores the present handler in
/// `before`.
bool canBeHandled(int signal) {
  switch (signal) {
  case SIGABRT:
  case SIGBUS:
  case SIGFPE:
  case SIGILL:
  case SIGSEGV:
  case SIGSYS:
  case SIGTRAP:
    return false;
  default:
    // Signals of the kernel's and the C library's own use are excluded.
    return sigaction(signal, nullptr, &before) == 0 &&
           sigaction(signal, &before, nullptr) == 0;
  }
}

void startDumping(const char *name) {
  const int signal = signalOf(name);
  if (!canBeHandled(signal))
    return writeAll(absl::StrCat("bagua: BAGUA_DUMP_SIGNAL: expected a signal "
                                 "that a program can handle, as USR1, found '",
                                 name, "'\n"));
  bell = eventfd(0, EFD_CLOEXEC);
  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  try {
    std::thread(dump).detach();
  } catch (const std::system_error &) {
    return; // a missing report must not end the run
  }
  sigaction(signal, &action, nullptr);
}

} // namespace

WaitReport::WaitReport(std::function<void(std::string &)> ownDescribe)
    : describe(std::move(ownDescribe)) {
  std::lock_guard<std::mutex> lock(reports().mutex);
  reports().all.push_back(this);
}

WaitReport::~WaitReport() {
  std::lock_guard<std::mutex> lock(reports().mutex);
  reports().all.remove(this);
}

std::unique_lock<std::mutex> tryFor(std::mutex &mutex) {
  constexpr int kLooks = 10;
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  for (int look = 0; look < kLooks && !lock; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.try_lock();
  }
  return lock;
}

std::string describeWaits() {
  std::string text = absl::StrCat("bagua: process ", getpid(), "\n");
  std::unique_lock<std::mutex> lock = tryFor(reports().mutex);
  if (!lock)
    return text + "  a session or a world is being made or destroyed\n";
  for (const WaitReport *report : reports().all)
    report->append(text);
  return text;
}

void dumpOnSignal() {
  static std::once_flag isAsked;
  std::call_once(isAsked, [] {
    if (const char *name = std::getenv("BAGUA_DUMP_SIGNAL"))
      startDumping(name);
  });
}

} // namespace bagua::runtime
