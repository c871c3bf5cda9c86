//===- Waits.h - Who waits where, for what and since when -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a run that hangs, or seems to: what each session and each communicator of
// this process is at.
//
//   std::cerr << describeWaits();      // on any thread, while others hang
//
// Where the environment has BAGUA_DUMP_SIGNAL (USR1, say, or a number) when a
// world is made, the process writes the same to standard error each time that
// it gets this signal; a handler that was there before is called, too. Without
// the variable no signal is touched.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_WAITS_H
#define BAGUA_RUNTIME_WAITS_H

#include <string>

namespace bagua::runtime {

/// Of each rank of this process: the error that has ended its run, if there is
/// one, and what ranks say that they wait for; of each communicator, which
/// members have come to the call in progress, and which have not; of each
/// session, what each of its streams is at in which step, for which tensors or
/// which stream it waits and for how long, and which tensors the program has
/// not given. From any thread, beside any other call. Waits for nobody for
/// longer than some 10 ms: what a thread that hangs keeps to itself is left
/// out, and that is said.
std::string describeWaits();

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_WAITS_H
