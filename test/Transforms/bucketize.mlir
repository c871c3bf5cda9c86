// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=ddp first-bytes=32 cap-bytes=100}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,DDP
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=size cap-bytes=64}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=SIZE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=cycle cap-bytes=96 cycle-ns=100}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=CYCLE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=none}))' %s | FileCheck %s --check-prefix=NONE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=size cap-bytes=64 partition-bytes=24}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=PARTS
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=none partition-bytes=12}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=ALONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=ddp cap-bytes=-1}))' %s 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=cycle cycle-ns=0}))' %s 2>&1 | FileCheck %s --check-prefix=BYTES

// Which gradients travel together, by each policy; then what must not.
!t = tensor<8xf32>
!h = tensor<8xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]

// BYTES: error: expected first-bytes, cap-bytes and partition-bytes of at least 0 and cycle-ns of at least 1

// Five gradients of 32 bytes, the last layer's first, 60 ns apart.
// ddp: the first bucket closes at 32 bytes, the others when they have reached 100.
// DDP-LABEL: bagua.step @train
// DDP: %[[G5:.*]] = bagua.compute backward "l5"
// DDP-NEXT: bagua.all_reduce mean %[[G5]] over [node]
// DDP: %[[G4:.*]] = bagua.compute backward "l4"
// DDP: %[[G3:.*]] = bagua.compute backward "l3"
// DDP: %[[G2:.*]] = bagua.compute backward "l2"
// DDP: %[[G1:.*]] = bagua.compute backward "l1"
// DDP-NEXT: %[[B:.*]] = bagua.concat %[[G4]], %[[G3]], %[[G2]], %[[G1]] : {{.*}} -> tensor<32xf32>
// DDP-NEXT: %[[C:.*]] = bagua.all_reduce mean %[[B]] over [node] : tensor<32xf32>
// DDP-NEXT: %[[R:.*]]:4 = bagua.split %[[C]]
// DDP-NEXT: bagua.sgd (%w1) grad %[[R]]#3
// size: buckets of two; the last is what is left.
// SIZE-LABEL: bagua.step @train
// SIZE: bagua.concat {{.*}} -> tensor<16xf32>
// SIZE: bagua.concat {{.*}} -> tensor<16xf32>
// SIZE-NOT: bagua.concat
// SIZE-LABEL: bagua.step @two_types
// cycle: at the tick at 100 there is l5. While that is sent, at a byte a second, all others gather: 96 bytes of them go
// together, and what is left.
// CYCLE-LABEL: bagua.step @train
// CYCLE: bagua.all_reduce mean %{{.*}} over [node] : tensor<8xf32>
// CYCLE: bagua.concat {{.*}} -> tensor<24xf32>
// CYCLE: bagua.all_reduce mean %{{.*}} over [node] : tensor<8xf32>
// CYCLE-LABEL: bagua.step @two_types
// partition-bytes: a bucket of 64 bytes in parts of 24 at most, so three of nearly the same size; they make the bucket
// again before it is split.
// PARTS-LABEL: bagua.step @train
// PARTS: %[[B:.*]] = bagua.concat {{.*}} -> tensor<16xf32>
// PARTS-NEXT: %[[P:.*]]:3 = bagua.split %[[B]] : tensor<16xf32> -> tensor<5xf32>, tensor<5xf32>, tensor<6xf32>
// PARTS-NEXT: %[[R0:.*]] = bagua.all_reduce mean %[[P]]#0 over [node] : tensor<5xf32>
// PARTS-NEXT: %[[R1:.*]] = bagua.all_reduce mean %[[P]]#1 over [node] : tensor<5xf32>
// PARTS-NEXT: %[[R2:.*]] = bagua.all_reduce mean %[[P]]#2 over [node] : tensor<6xf32>
// PARTS-NEXT: %[[C:.*]] = bagua.concat %[[R0]], %[[R1]], %[[R2]] : {{.*}} -> tensor<16xf32>
// PARTS-NEXT: bagua.split %[[C]] : tensor<16xf32> -> tensor<8xf32>, tensor<8xf32>
// A tensor that travels alone, too.
// ALONE-LABEL: bagua.step @train
// ALONE: %[[G:.*]] = bagua.compute backward "l5"
// ALONE-NEXT: bagua.split %[[G]] : tensor<8xf32> -> tensor<2xf32>, tensor<3xf32>, tensor<3xf32>
// ALONE: bagua.concat {{.*}} -> tensor<8xf32>
// none: each alone, where it was.
// NONE-LABEL: bagua.step @train
// NONE-NOT: bagua.concat
// NONE-COUNT-5: bagua.all_reduce
// NONE-NOT: bagua.concat
// NONE-LABEL: bagua.step @two_types
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t, param %w4 "w4" : !t, param %w5 "w5" : !t) {
  %g5 = bagua.compute backward "l5"(%x) cost_ns 60 measured : (!t) -> (!t grad "w5")
  %r5 = bagua.all_reduce mean %g5 over [node] : !t
  %g4 = bagua.compute backward "l4"(%x) cost_ns 60 measured : (!t) -> (!t grad "w4")
  %r4 = bagua.all_reduce mean %g4 over [node] : !t
  %g3 = bagua.compute backward "l3"(%x) cost_ns 60 measured : (!t) -> (!t grad "w3")
  %r3 = bagua.all_reduce mean %g3 over [node] : !t
  %g2 = bagua.compute backward "l2"(%x) cost_ns 60 measured : (!t) -> (!t grad "w2")
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %g1 = bagua.compute backward "l1"(%x) cost_ns 60 measured : (!t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %r4 lr 0.1 : !t
  %n5 = bagua.sgd (%w5) grad %r5 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3, %n4, %n5 : !t, !t, !t, !t, !t
}

// Two element types: two buckets, each of its own.
// CHECK-LABEL: bagua.step @two_types
// CHECK: %[[A:.*]]:4 = bagua.compute backward
// CHECK: bagua.concat %[[A]]#1, %[[A]]#3 : tensor<8xbf16>, tensor<8xbf16> -> tensor<16xbf16>
// CHECK-NOT: bagua.concat %[[A]]#0, %[[A]]#1
bagua.step @two_types on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !h, param %w3 "w3" : !t, param %w4 "w4" : !h) {
  %g1, %g2, %g3, %g4 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w1", !h grad "w2", !t grad "w3", !h grad "w4")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !h
  %r3 = bagua.all_reduce mean %g3 over [node] : !t
  %r4 = bagua.all_reduce mean %g4 over [node] : !h
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !h
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %r4 lr 0.1 : !h
  bagua.yield %n1, %n2, %n3, %n4 : !t, !h, !t, !h
}

// Two groups: experts are reduced over node alone, what all ranks share over both.
// Nor does a gradient that is the same over tp share a bucket with one that varies.
// CHECK-LABEL: bagua.step @two_groups
// CHECK-NOT: bagua.concat
// CHECK: bagua.yield
bagua.step @two_groups on @pod data [node, tp] (batch %x "x" : !t, param %w1 "shared" : !t, param %w2 "expert" varies [tp] : !t) {
  %g1, %g2 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "shared", !t grad "expert")
  %r1 = bagua.all_reduce mean %g1 over [node, tp] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}
// CHECK-LABEL: bagua.step @two_agreements
// CHECK-NOT: bagua.concat
// CHECK: bagua.yield
bagua.step @two_agreements on @pod data [node] (batch %x "x" : !t, param %w1 "norm" : !t, param %w2 "mlp" varies [tp] : !t) {
  %g1 = bagua.compute backward "norm"(%x) : (!t) -> (!t grad "norm")
  %g2 = bagua.compute backward "mlp"(%x, %w2) : (!t, !t) -> (!t grad "mlp")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// A gradient that something else uses, or whose mean has a name, is not moved.
// CHECK-LABEL: bagua.step @used_elsewhere
// CHECK-NOT: bagua.concat
// CHECK: bagua.yield
bagua.step @used_elsewhere on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %g1, %g2 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w1", !t grad "w2")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !t as "mean"
  bagua.compute update "noise scale"(%g1) : (!t) -> ()
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// Parts of sharded params are not gathered, nor is what somebody waits for.
!z = tensor<8xf32, #bagua.layout<shard [tp]>>
// CHECK-LABEL: bagua.step @not_whole
// CHECK-NOT: bagua.concat
// CHECK: bagua.yield
bagua.step @not_whole on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !z, param %w2 "w2" : !z) {
  %g1, %g2, %l = bagua.compute backward "l"(%x) : (!t) -> (!z grad "w1", !z grad "w2", !t)
  %r1 = bagua.all_reduce mean %g1 over [node] : !z
  %r2 = bagua.all_reduce mean %g2 over [node] : !z
  %m = bagua.all_reduce mean %l over [node] : !t
  bagua.compute update "print"(%m) : (!t) -> ()
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !z
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !z
  bagua.yield %n1, %n2 : !z, !z
}

// Statistics that have time share buckets, too, but none with gradients, with another kind, or with what backward waits for.
// SIZE-LABEL: bagua.step @statistics
// SIZE: bagua.all_reduce mean %[[D:[0-9#]+]] over [node]
// SIZE: %[[B:.*]] = bagua.concat
// SIZE-NEXT: %[[M:.*]] = bagua.all_reduce mean %[[B]] over [node] : tensor<16xf32>
// SIZE-NEXT: %[[S:.*]]:2 = bagua.split %[[M]]
// SIZE: bagua.all_reduce max
// SIZE: bagua.all_reduce mean %{{.*}} over [node] : tensor<8xf32>
// SIZE-NOT: bagua.all_reduce
// SIZE: bagua.compute update "variance"(%{{.*}}, %[[S]]#0, %[[S]]#1,
bagua.step @statistics on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t, buffer %v "variance" : !t) {
  %a, %s0, %s1, %s2, %s3 = bagua.compute forward "l"(%x, %w) : (!t, !t) -> (!t, !t, !t, !t, !t)
  %r0 = bagua.all_reduce mean %s0 over [node] : !t
  %r1 = bagua.all_reduce mean %s1 over [node] : !t
  %r2 = bagua.all_reduce mean %s2 over [node] : !t
  %r3 = bagua.all_reduce max %s3 over [node] : !t
  %f = bagua.linear [0.9, 0.1] (%e, %r1) : !t
  %g = bagua.compute backward "l"(%a, %r0) : (!t, !t) -> (!t grad "w")
  %q = bagua.all_reduce mean %g over [node] : !t
  %u = bagua.compute update "variance"(%v, %r1, %r2, %r3) : (!t, !t, !t, !t) -> (!t)
  %n = bagua.sgd (%w) grad %q lr 0.1 : !t
  bagua.yield %n, %f, %u : !t, !t, !t
}

// A step without gradients has no buckets.
// CHECK-LABEL: bagua.step @evaluate
// CHECK-NEXT: bagua.compute
// CHECK-NEXT: bagua.yield
bagua.step @evaluate on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %l = bagua.compute forward "l"(%x, %w) : (!t, !t) -> (!t as "loss")
  bagua.yield %w : !t
}
