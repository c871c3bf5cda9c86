// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-verify-schedule))' %s -o %t
// RUN: bagua-opt %s | diff - %t

// Schedules that are accepted; the pass changes nothing. verify-schedule-errors.mlir
// has those that are refused.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// Two streams, a bucket in place, updates by the runtime: what uses a value waits for it.
bagua.step @bucket on @pod data [node] streams [compute, comm, update] (batch %x "x" : !t, param %w1 "w1" at "w1" : !t, param %w2 "w2" at "w2" : !t) {
  %g1, %g2 = bagua.compute backward "l"(%x, %w1, %w2) on compute at [grads:0, grads:32] : (!t, !t, !t) -> (!t grad "w1", !t grad "w2")
  %b = bagua.concat %g1, %g2 on comm at [grads:0] : !t, !t -> tensor<16xf32>
  %c = bagua.all_reduce mean %b over [node] on comm at [grads:0] : tensor<16xf32>
  %r1, %r2 = bagua.split %c on comm at [grads:0, grads:32] : tensor<16xf32> -> !t, !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 on update at ["w1"] : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 on update at ["w2"] : !t
  bagua.yield %n1, %n2 : !t, !t
}

// Bytes that two values take one after the other, on one stream.
bagua.step @reused on @pod data [node] streams [comm] (replica %a "a" at "a" : !t) {
  %r = bagua.all_reduce max %a over [node] on comm at [scratch:0] : !t
  %m = bagua.linear [0.5, 0.5] (%a, %r) on comm at ["a"] : !t
  %s = bagua.all_reduce sum %m over [node] on comm at [scratch:0] : !t
  %n = bagua.linear [0.5, 0.5] (%m, %s) on comm at ["a"] : !t
  bagua.yield %n : !t
}

// On two streams, `after` gives the order that values don't: dgrad reads the weight
// that the update overwrites.
bagua.step @after on @pod data [node] streams [compute, comm, update] (batch %x "x" : !t, param %w "w" at "w" : !t) {
  %a = bagua.compute forward "l"(%x, %w) on compute at [program] : (!t, !t) -> (!t)
  %g = bagua.compute backward "wgrad"(%a) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %d = bagua.compute backward "dgrad"(%x, %w) on compute at ["dx"] : (!t, !t) -> (!t as "dx")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  %f = bagua.after %r [%d] on comm at ["w.grad"] : !t [!t]
  %n = bagua.sgd (%w) grad %f lr 0.1 on update at ["w"] : !t
  bagua.yield %n : !t
}

// A tensor in two buckets: one is where it lies, the other a copy.
bagua.step @two_buckets on @pod data [node] streams [comm] (replica %a "a" at arena:0 : !t, replica %b "b" at arena:32 : !t) {
  %c = bagua.concat %a, %b on comm at [arena:0] : !t, !t -> tensor<16xf32>
  %d = bagua.concat %b, %a on comm at [copy:0] : !t, !t -> tensor<16xf32>
  %m = bagua.linear [0.5, 0.5] (%c, %d) on comm at [arena:0] : tensor<16xf32>
  %e, %f = bagua.split %m on comm at [arena:0, arena:32] : tensor<16xf32> -> !t, !t
  bagua.yield %e, %f : !t, !t
}
