// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{policy=wfbp}))' %s | FileCheck %s --check-prefixes=CHECK,WFBP
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{policy=bsp}))' %s | FileCheck %s --check-prefixes=CHECK,BSP
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule,bagua-schedule))' %s 2>&1 | FileCheck %s --check-prefix=TWICE

// Streams and launch order.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
    device #bagua.device<flop_per_s = 1000000000, bytes_per_s = 1000000000, launch_ns = 7>

// TWICE: error: expected a step at graph level, found one with streams

// wfbp: each mean starts as soon as its gradient is there. The program runs its
// optimizer, in the order in which the means arrive; moving 3 x 32 bytes takes 103 ns.
// WFBP-LABEL: bagua.step @train on @pod data [node] streams [compute, comm]
// WFBP-NEXT: %[[G2:.*]] = bagua.compute backward "l2"(%x) on compute
// WFBP-NEXT: %[[R2:.*]] = bagua.all_reduce mean %[[G2]] over [node] on comm
// WFBP-NEXT: %[[G1:.*]] = bagua.compute backward "l1"(%x) on compute
// WFBP-NEXT: %[[R1:.*]] = bagua.all_reduce mean %[[G1]] over [node] on comm
// WFBP-NEXT: bagua.compute update "sgd w2"(%w2, %[[R2]]) bytes 96 cost_ns 103 roofline on compute
// WFBP-NEXT: bagua.compute update "sgd w1"(%w1, %[[R1]])
// bsp: the first mean waits for the last gradient, and the stream's order does the rest.
// BSP-LABEL: bagua.step @train on @pod data [node] streams [compute, comm]
// BSP-NEXT: %[[G2:.*]] = bagua.compute backward "l2"
// BSP-NEXT: %[[G1:.*]] = bagua.compute backward "l1"
// BSP-NEXT: %[[F:.*]] = bagua.after %[[G2]] [%[[G1]]] on comm
// BSP-NEXT: bagua.all_reduce mean %[[F]] over [node] on comm
// BSP-NEXT: bagua.all_reduce mean %[[G1]] over [node] on comm
// BSP-NEXT: bagua.compute update "sgd w2"
// BSP-NEXT: bagua.compute update "sgd w1"
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t grad "w2")
  %g1 = bagua.compute backward "l1"(%x) : (!t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// Under bsp one gradient waits for nothing else.
// BSP-LABEL: bagua.step @one_gradient
// BSP-NOT: bagua.after
// BSP: bagua.yield
bagua.step @one_gradient on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// Communication that forward and backward wait for has a stream of its own, and
// stands where it is needed. The loss's mean only reaches the program's log: it is
// ordinary communication, and the log comes last.
// CHECK-LABEL: bagua.step @activations on @pod data [node] streams [compute, comm, activation]
// CHECK-NEXT: bagua.compute forward "gate"
// CHECK-NEXT: bagua.all_to_all {{.*}} on activation
// CHECK-NEXT: bagua.compute forward "expert"
// WFBP-NEXT: %[[L:.*]] = bagua.all_reduce mean {{.*}} on comm
// WFBP-NEXT: bagua.compute backward "expert"
// WFBP-NEXT: bagua.all_reduce mean {{.*}} on comm
// WFBP-NEXT: bagua.compute update "log"(%[[L]])
// WFBP-NEXT: bagua.compute update "sgd w"
bagua.step @activations on @pod data [node] (batch %x "x" : !t, param %w "w" varies [tp] : !t) {
  %a = bagua.compute forward "gate"(%x) : (!t) -> (!t)
  %i = bagua.all_to_all %a over [tp] split 0 concat 0 : !t -> !t
  %e, %l = bagua.compute forward "expert"(%i, %w) : (!t, !t) -> (!t, tensor<f32>)
  %m = bagua.all_reduce mean %l over [node] : tensor<f32>
  bagua.compute update "log"(%m) : (tensor<f32>) -> ()
  %g = bagua.compute backward "expert"(%e) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// A mean of the loss that backward uses (loss scaling) is waited for.
// CHECK-LABEL: bagua.step @loss_in_backward on @pod data [node] streams [compute, comm, activation]
// CHECK-NEXT: bagua.compute forward
// CHECK-NEXT: bagua.all_reduce mean {{.*}} on activation
// CHECK-NEXT: bagua.compute backward
bagua.step @loss_in_backward on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %l = bagua.compute forward "loss"(%x, %w) : (!t, !t) -> (tensor<f32>)
  %m = bagua.all_reduce mean %l over [node] : tensor<f32>
  %g = bagua.compute backward "loss"(%m) : (tensor<f32>) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// An update on a shard stays structured: the runtime runs it between two collectives.
// CHECK-LABEL: bagua.step @sharded_update
// CHECK: bagua.reduce_scatter {{.*}} on comm
// CHECK: bagua.sgd {{.*}} on update
// CHECK: bagua.all_gather {{.*}} on comm
bagua.step @sharded_update on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %o = bagua.slice %w : !t -> !z
  %u = bagua.sgd (%o) grad %s lr 0.1 : !z
  %n = bagua.all_gather %u over [node] : !z -> !t
  bagua.yield %n : !t
}

// A step without gradients is compute alone.
// CHECK-LABEL: bagua.step @evaluate on @pod data [node] streams [compute, comm]
// CHECK-NEXT: bagua.compute forward "l"(%x, %w) on compute
// CHECK-NEXT: bagua.yield
bagua.step @evaluate on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %l = bagua.compute forward "l"(%x, %w) : (!t, !t) -> (!t as "loss")
  bagua.yield %w : !t
}
