// RUN: bagua-opt --bagua-strategy=ddp %s | FileCheck %s
// RUN: bagua-opt '--bagua-strategy=ddp{updates=runtime}' %s | FileCheck %s
// RUN: bagua-opt '--bagua-strategy=ddp{updates=late}' %s | FileCheck %s

// A step that runs between iterations promises what becomes of its states, and the
// runtime runs all of it, whoever runs the updates of the iterations.
!t = tensor<9xf32>
!r = tensor<9xf32, #bagua.layout<root [node, gpu]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>]

// CHECK-LABEL: bagua.step @between on @pod streams [compute, comm]
// CHECK-SAME: param %w "w" varies [node, gpu] at "w"
// CHECK-SAME: optimizer %m "m" at "m"
// CHECK-SAME: bagua.contract = [#bagua.relation<"w" = broadcast "w" over [node, gpu]>, #bagua.relation<"m" = scaled "m" by 0.1>]
// CHECK: bagua.broadcast %{{.*}} on comm at ["w"]
// CHECK: bagua.linear [0.1] (%m) on comm at ["m"]
// CHECK-NOT: bagua.compute
// CHECK: bagua.yield
bagua.step @between on @pod (param %w "w" varies [node, gpu] : !t, optimizer %m "m" : !t, buffer %b "b" : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node, gpu] : !r -> !t
  %o = bagua.linear [0.1] (%m) : !t
  bagua.yield %n, %o, %b : !t, !t, !t
}
