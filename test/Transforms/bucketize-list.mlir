// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=1/2:leader,2:rail,2*1}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=LIST
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=1/2:leader,2:rail,2*1},bagua-lower-hierarchy{form=flat}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=LOWER
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=2:bf16,1:rail:f16,2},bagua-cast-wire),bagua-verify-graph)' %s | FileCheck %s --check-prefix=WIRE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=1:none,4 wire=bf16},bagua-cast-wire{type=bf16}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=NONE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=1/3:rail+flat,4}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=TURN
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=2,2}))' %s 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=1/9,4}))' %s 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=list buckets=5:round}))' %s 2>&1 | FileCheck %s --check-prefix=TEXT

// Buckets, parts and forms one by one, as bagua-auto writes them.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]

// FEW: error: expected buckets of all 5 all_reduces, of gradients and statistics, found 4
// CUT: error: expected at most 8 parts of bucket 0, found 9
// TEXT: error: expected buckets such as 3*1,12:rail,1/8, found '5:round'

// The last layer's gradient in two parts, the next two together, the rest alone; how each goes is written on it.
// LIST-LABEL: bagua.step @train
// LIST: bagua.split %{{.*}} : tensor<8xf32> -> tensor<4xf32>, tensor<4xf32>
// LIST-COUNT-2: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "leader"} : tensor<4xf32>
// LIST: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "rail"} : tensor<16xf32>
// LIST-COUNT-2: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<8xf32>
// Parts take several forms in turn.
// TURN-LABEL: bagua.step @train
// TURN: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "rail"} : tensor<2xf32>
// TURN-NEXT: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<3xf32>
// TURN-NEXT: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "rail"} : tensor<3xf32>
// bagua-lower-hierarchy obeys.
// LOWER-LABEL: bagua.step @train
// LOWER-COUNT-2: bagua.broadcast
// LOWER: bagua.reduce_scatter mean %{{.*}} over [gpu]
// LOWER-NEXT: bagua.all_reduce mean %{{.*}} over [node]
// LOWER-NEXT: bagua.all_gather
// LOWER-NOT: bagua.form
// A bucket has a wire of its own, which bagua-cast-wire obeys; the form stays with the message.
// WIRE-LABEL: bagua.step @train
// WIRE: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<16xbf16>
// WIRE: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "rail"} : tensor<8xf16>
// WIRE: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<16xf32>
// WIRE-NOT: bagua.wire
// Where the others are narrow, a bucket may stay as it is.
// NONE-LABEL: bagua.step @train
// NONE: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<8xf32>
// NONE: bagua.all_reduce mean %{{.*}} over [node, gpu] {bagua.form = "flat"} : tensor<32xbf16>
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t, param %w4 "w4" : !t, param %w5 "w5" : !t) {
  %d5, %g5 = bagua.compute backward "l5"(%x, %w5) cost_ns 60 measured : (!t, !t) -> (!t, !t grad "w5")
  %d4, %g4 = bagua.compute backward "l4"(%d5, %w4) cost_ns 60 measured : (!t, !t) -> (!t, !t grad "w4")
  %d3, %g3 = bagua.compute backward "l3"(%d4, %w3) cost_ns 60 measured : (!t, !t) -> (!t, !t grad "w3")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %w2) cost_ns 60 measured : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 60 measured : (!t, !t) -> (!t grad "w1")
  %r5 = bagua.all_reduce mean %g5 over [node, gpu] : !t
  %r4 = bagua.all_reduce mean %g4 over [node, gpu] : !t
  %r3 = bagua.all_reduce mean %g3 over [node, gpu] : !t
  %r2 = bagua.all_reduce mean %g2 over [node, gpu] : !t
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %r4 lr 0.1 : !t
  %n5 = bagua.sgd (%w5) grad %r5 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3, %n4, %n5 : !t, !t, !t, !t, !t
}
