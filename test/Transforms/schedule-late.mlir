// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{updates=late},bagua-place,bagua-verify-schedule))' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{updates=late},bagua-place))' %s | bagua-opt | FileCheck %s

// Updates that the program runs in its next step: behind everything else in the block, on a stream of their own.
!t = tensor<8xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
    device #bagua.device<flop_per_s = 1000000000, bytes_per_s = 1000000000, launch_ns = 7>

// In the order in which the next forward needs them, though backward makes w2's gradient first.
// CHECK-LABEL: bagua.step @layers on @pod data [node] streams [compute, comm, late]
// CHECK: %[[R2:.*]] = bagua.all_reduce mean {{.*}} on comm at ["w2.grad"]
// CHECK: %[[R1:.*]] = bagua.all_reduce mean {{.*}} on comm at ["w1.grad"]
// CHECK-NEXT: bagua.compute update "sgd w1"(%w1, %[[R1]]) late bytes 96 cost_ns 103 roofline on late at [program]
// CHECK-NEXT: bagua.compute update "sgd w2"(%w2, %[[R2]]) late
// CHECK-NEXT: bagua.yield
bagua.step @layers on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a = bagua.compute forward "l1"(%x, %w1) : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) : (!t, !t) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%b, %w2) : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) : (!t, !t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// Clipping by a norm: what leads to late ops alone is late itself, as soon as one of them is needed. What the step
// gives out, a logged norm, is not.
// CHECK-LABEL: bagua.step @clipped
// CHECK: bagua.compute update "log"({{.*}}) on compute
// CHECK-NEXT: bagua.compute update "scale"({{.*}}) late on late
// CHECK-NEXT: bagua.compute update "w1"({{.*}}) late on late
// CHECK-NEXT: bagua.compute update "w2"({{.*}}) late on late
bagua.step @clipped on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a = bagua.compute forward "l1"(%x, %w1) : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) : (!t, !t) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%b, %w2) : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) : (!t, !t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %s = bagua.compute update "scale"(%r1, %r2) : (!t, !t) -> (!s)
  %l = bagua.compute update "log"(%r1, %r2) : (!t, !t) -> (!s as "norm")
  %n1 = bagua.compute update "w1"(%w1, %r1, %s) : (!t, !t, !s) -> (!t)
  %n2 = bagua.compute update "w2"(%w2, %r2, %s) : (!t, !t, !s) -> (!t)
  bagua.yield %n1, %n2 : !t, !t
}

// A reduction with a name has a place of its own, in which the next step's result will lie by then. Its update is not late.
// CHECK-LABEL: bagua.step @named
// CHECK: bagua.compute update "sgd w1"({{.*}}) bytes 96 cost_ns 103 roofline on compute
// CHECK: bagua.compute update "sgd w2"({{.*}}) late
bagua.step @named on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a = bagua.compute forward "l1"(%x, %w1) : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) : (!t, !t) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%b, %w2) : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) : (!t, !t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t as "w1.mean"
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}
