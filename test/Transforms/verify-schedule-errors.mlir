// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-verify-schedule))' --split-input-file --verify-diagnostics %s

// Schedules that are refused: incomplete ones, races within a step and from one step
// to the next, and values that are overwritten in perfect order.

// Graph level has no schedule to prove.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a scheduled step, found one without streams}}
bagua.step @train on @pod data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}

// -----

// Every op has a stream.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  // expected-error @+1 {{expected a stream in a scheduled step}}
  %r = bagua.all_reduce mean %a over [node] at ["a"] : !t
  bagua.yield %r : !t
}

// -----

// Every op has places.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  // expected-error @+1 {{expected places in a scheduled step}}
  %r = bagua.all_reduce mean %a over [node] on comm : !t
  bagua.yield %r : !t
}

// -----

// The runtime can't reach what only the program has.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %a = bagua.compute forward "l"(%x) on compute at [program] : (!t) -> (!t)
  // expected-error @+1 {{has an operand or result in memory that the runtime never sees}}
  %r = bagua.all_reduce mean %a over [node] on comm at [buckets:0] : !t
  bagua.yield %w : !t
}

// -----

// State has one place: what the next step reads is where this one put it.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  %r = bagua.all_reduce mean %a over [node] on comm at [buckets:0] : !t
  // expected-error @+1 {{yields state 'a' in another place than its argument's}}
  bagua.yield %r : !t
}

// -----

// Two streams, no order: the update may overwrite the weight while dgrad reads it.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, update] (batch %x "x" : !t, param %w "w" at "w" : !t) {
  %g = bagua.compute backward "wgrad"(%x) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  // expected-note @+1 {{which reads them on stream 'compute'}}
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{writes bytes 0 to 32 of 'w', unordered with another op}}
  %n = bagua.sgd (%w) grad %r lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
}

// -----

// Nor does a stream's name help: what the program runs on a stream `compute` is on a
// stream of the program's.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" at "w" : !t) {
  %g = bagua.compute backward "wgrad"(%x) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  // expected-note @+1 {{which reads them on stream 'compute'}}
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{writes bytes 0 to 32 of 'w', unordered with another op}}
  %n = bagua.sgd (%w) grad %r lr 0.1 on compute at ["w"] : !t
  bagua.yield %n : !t
}

// -----

// Ranges that overlap in part are a race too.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [a, b] (replica %a "a" at "a" : !t) {
  // expected-note @+1 {{which writes them on stream 'a'}}
  %r = bagua.all_reduce max %a over [node] on a at [scratch:0] : !t
  // expected-error @+1 {{writes bytes 28 to 32 of 'scratch', unordered with another op}}
  %s = bagua.all_reduce min %a over [node] on b at [scratch:28] : !t
  bagua.yield %a : !t
}

// -----

// From step to step: nothing keeps the next backward from writing a gradient whose
// mean of this step is not done.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{writes bytes 0 to 32 of 'w.grad' in the next step, unordered with another op}}
  %g = bagua.compute backward "l"(%x) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  // expected-note @+1 {{which reads them on stream 'comm'}}
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  bagua.yield %w : !t
}

// -----

// In perfect order, and still wrong: the second collective takes the bytes of the
// first one's result, which is read after it.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  // expected-note @+1 {{the value is made here}}
  %r = bagua.all_reduce max %a over [node] on comm at [scratch:0] : !t
  %s = bagua.all_reduce min %a over [node] on comm at [scratch:0] : !t
  // expected-error @+1 {{reads a value whose bytes have been overwritten}}
  %n = bagua.linear [0.5, 0.5] (%r, %s) on comm at ["a"] : !t
  bagua.yield %n : !t
}

// -----

// A bucket can't be cut into its own bytes in another order: the first tensor would
// overwrite the second before it is moved.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at arena:0 : tensor<16xf32>, replica %e "e" at arena:32 : !t, replica %f "f" at arena:0 : !t) {
  // expected-error @+1 {{has a result that overlaps an operand other than in place}}
  %r, %s = bagua.split %a on comm at [arena:32, arena:0] : tensor<16xf32> -> !t, !t
  bagua.yield %a, %r, %s : tensor<16xf32>, !t, !t
}

// -----

// Nor is a bucket put together over its own tensors, shifted.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at arena:0 : !t, replica %b "b" at arena:32 : !t) {
  // expected-error @+1 {{has a result that overlaps an operand other than in place}}
  %c = bagua.concat %a, %b on comm at [arena:16] : !t, !t -> tensor<16xf32>
  bagua.yield %a, %b : !t, !t
}

// -----

// Pieces that other ranks send can't take the place of what is still to be sent.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  // expected-error @+1 {{has a result that overlaps an operand other than in place}}
  %r = bagua.all_to_all %a over [node] split 0 concat 0 on comm at ["a"] : !t -> !t
  bagua.yield %r : !t
}

// -----

// In place is exactly in place.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at arena:0 : !t) {
  // expected-error @+1 {{has a result that overlaps an operand other than in place}}
  %r = bagua.all_reduce max %a over [node] on comm at [arena:4] : !t
  bagua.yield %a : !t
}

// -----

// Two results are two memories.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  // expected-error @+1 {{has two results in the same bytes}}
  %l, %r = bagua.exchange ring %a over [node] on comm at [arena:0, arena:16] : !t -> !t, !t
  bagua.yield %a : !t
}

// -----

// A named tensor that lies in an arena and those bytes of the arena are one memory: the copy is in the way of the
// gradient, by whichever name.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] streams [compute, comm, other] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{which writes them on stream 'compute'}}
  %g = bagua.compute backward "l"(%x, %w) on compute at [grads:0] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at [sums:0] : !t
  // expected-error @+1 {{writes bytes 0 to 32 of 'grads', unordered with another op}}
  %c = bagua.concat %w on other at ["w.grad"] : !t -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on comm at ["w"] : !t
  bagua.yield %n : !t
}

// -----

// A name lies under itself or in an arena.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{expected tensor "w.grad" under its own name or in an arena, found it in tensor "w"}}
  %g = bagua.compute backward "l"(%x, %w) on compute at ["w"] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w"] : !t
  bagua.yield %w : !t
}

// -----

// There is memory only under names that the step has.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{has a result in tensor "nobody's", which the step doesn't name}}
  %r = bagua.all_reduce mean %g over [node] on comm at ["nobody's"] : !t
  bagua.yield %w : !t
}

// -----

// Between steps the program may read its state.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] streams [compute, comm] (
    // expected-note @+1 {{the value is made here}}
    batch %x "x" : !t, buffer %b "b" : !t) {
  %r = bagua.all_reduce mean %x over [node] on comm at ["b"] : !t
  // expected-error @+1 {{yields state 'b', whose bytes have been overwritten}}
  bagua.yield %b : !t
}

// -----

// To take a tensor back is to wait until the runtime is done with it. The update of w stands on its stream behind that
// of v, which waits for a gradient that the program makes after it has taken w's.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, update] (param %w "w" at "w" : !t, param %v "v" at "v" : !t) {
  %g = bagua.compute backward "l"(%w) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{takes back a value that a later op still uses, and that op waits for the program: a deadlock}}
  %h = bagua.compute backward "k"(%v, %r) on compute at ["v.grad"] : (!t, !t) -> (!t grad "v")
  %rh = bagua.all_reduce mean %h over [node] on comm at ["v.grad"] : !t
  %m = bagua.sgd (%v) grad %rh lr 0.1 on update at ["v"] : !t
  // expected-note @+1 {{this op uses its bytes}}
  %n = bagua.sgd (%w) grad %r lr 0.1 on update at ["w"] : !t
  bagua.yield %n, %m : !t, !t
}

// -----

// More ranks than an element has bytes: a part of two bytes' worth of ranks is four bytes, and what overwrites it is found.
!t = tensor<10xf32>
!m = tensor<2x5xf32>
#part = #bagua.layout<shard [node]>
!tp = tensor<10xf32, #part>
!mp = tensor<2x5xf32, #part>
bagua.cluster @pod axes [#bagua.axis<"node", size = 16, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" at "w" : !t, param %v "v" at "v" : !m) {
  %g = bagua.compute backward "l"(%x, %w) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  %h = bagua.compute backward "k"(%x, %v) on compute at ["v.grad"] : (!t, !m) -> (!m grad "v")
  %c = bagua.reduce_scatter mean %g over [node] on comm at [parts:0] : !t -> !tp
  // expected-note @+1 {{the value is made here}}
  %s = bagua.split %c on comm at [parts:64] : !tp -> !mp
  %d = bagua.reduce_scatter mean %h over [node] on comm at [parts:64] : !m -> !mp
  // expected-error @+1 {{reads a value whose bytes have been overwritten}}
  %e = bagua.all_gather %s over [node] on comm at ["w.grad"] : !mp -> !m
  %e1 = bagua.split %e on comm at ["w.grad"] : !m -> !t
  %f = bagua.all_gather %d over [node] on comm at ["v.grad"] : !mp -> !m
  %n = bagua.sgd (%w) grad %e1 lr 0.1 on comm at ["w"] : !t
  %m = bagua.sgd (%v) grad %f lr 0.1 on comm at ["v"] : !m
  bagua.yield %n, %m : !t, !m
}

// -----

// What runs in the next step makes nothing for this one.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, late] (param %w "w" : !t, buffer %v "v" : !t) {
  %g = bagua.compute backward "l"(%w, %v) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{can't run late: expected an op that waits for communication, and whose results are only states that the next step's compute reads, or operands of late ops}}
  %n = bagua.compute update "sgd"(%w, %r) late on late at [program] : (!t, !t) -> (!t)
  %m = bagua.compute update "average"(%v, %n) on compute at [program] : (!t, !t) -> (!t)
  bagua.yield %n, %m : !t, !t
}

// -----

// Late ops come last.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, late] (param %w "w" : !t, buffer %v "v" : !t) {
  %g = bagua.compute backward "l"(%w, %v) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  %n = bagua.compute update "sgd"(%w, %r) late on late at [program] : (!t, !t) -> (!t)
  // expected-error @+1 {{expected this op before all late ops, found it behind a late op}}
  %m = bagua.compute update "average"(%v, %r) on compute at [program] : (!t, !t) -> (!t)
  bagua.yield %n, %m : !t, !t
}

// -----

// A stream runs in the order of the block, and late ops don't.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (param %w "w" : !t) {
  %g = bagua.compute backward "l"(%w) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{is late, but on stream 'compute', which has an op that is not late}}
  %n = bagua.compute update "sgd"(%w, %r) late on compute at [program] : (!t, !t) -> (!t)
  bagua.yield %n : !t
}

// -----

// Late ops stand in the order in which the next step runs them: w's update before forward 1, v's before forward 2.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, late] (param %w "w" : !t, param %v "v" : !t) {
  %a = bagua.compute forward "l1"(%w) on compute at [program] : (!t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %v) on compute at [program] : (!t, !t) -> (!t)
  %h = bagua.compute backward "l2"(%b) on compute at ["v.grad"] : (!t) -> (!t grad "v")
  %g = bagua.compute backward "l1"(%a) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %s = bagua.all_reduce mean %h over [node] on comm at ["v.grad"] : !t
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  %m = bagua.compute update "v"(%v, %s) late on late at [program] : (!t, !t) -> (!t)
  // expected-error @+1 {{expected late ops in the order in which the next step runs them, found one behind another that runs later}}
  %n = bagua.compute update "w"(%w, %r) late on late at [program] : (!t, !t) -> (!t)
  bagua.yield %n, %m : !t, !t
}

// -----

// An old value that becomes another state's can't be read in the next step: the forward there needs that other's next one.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm, late] (param %w "w" : !t, buffer %p "p" : !t) {
  %a = bagua.compute forward "l1"(%p) on compute at [program] : (!t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w) on compute at [program] : (!t, !t) -> (!t)
  %g = bagua.compute backward "l2"(%b) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  // expected-error @+1 {{can't run late}}
  %n = bagua.compute update "w"(%w, %p, %r) late on late at [program] : (!t, !t, !t) -> (!t)
  bagua.yield %n, %w : !t, !t
}
