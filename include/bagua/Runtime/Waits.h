//===- Waits.h - A report of what hangs -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a run that hangs, or seems to: the state of each session and each
// communicator of this process.
//
//   std::cerr << describeWaits();      // on any thread, while others hang
//
// If the environment variable BAGUA_DUMP_SIGNAL names a signal (such as USR1,
// or a number) when a world is created, the process writes the same text to
// standard error each time it gets this signal. A handler that was installed
// before is called, too. Without the variable no signal is touched.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_WAITS_H
#define BAGUA_RUNTIME_WAITS_H

#include <string>

namespace bagua::runtime {

/// For each rank of this process: the error that has ended its run, if any, and
/// what ranks say they wait for. For each communicator: which members have
/// entered the call in progress, and which have not. For each session: the step
/// and the instruction of each of its streams, for which tensors or which
/// stream it waits and for how long, and which tensors the program has not
/// given. May be called from any thread, beside any other call. Waits at most
/// some 10 ms for a thread that hangs; the text then says that this thread's
/// state is left out.
std::string describeWaits();

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_WAITS_H
