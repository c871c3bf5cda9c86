// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-cast-wire{type=f16}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=F16
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-cast-wire),bagua-verify-graph)' %s | FileCheck %s --check-prefix=NONE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-bucketize{policy=size},bagua-cast-wire{type=bf16}),bagua-verify-graph,bagua.step(bagua-schedule,bagua-place,bagua-verify-schedule))' %s | FileCheck %s --check-prefix=PLACED
// RUN: sed 's/all_reduce mean %g1 over .node./& {bagua.wire = "f8"}/' %s > %t.mlir
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-cast-wire))' %t.mlir 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE

// 16 bits an element on the wire: gradients alone, in float32 alone.
!t = tensor<8xf32>
!h = tensor<8xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// ATTRIBUTE: error: 'bagua.all_reduce' op expected a wire in 'bagua.wire', found "f8"

// The loss keeps its precision, and what has 16 bits already stays as it is.
// F16: bagua.all_reduce mean %{{.*}} over [node] : tensor<f32>
// F16: %[[C:.*]] = bagua.cast %{{.*}} : tensor<8xf32> -> tensor<8xf16>
// F16-NEXT: %[[R:.*]] = bagua.all_reduce mean %[[C]] over [node] : tensor<8xf16>
// F16-NEXT: %[[B:.*]] = bagua.cast %[[R]] : tensor<8xf16> -> tensor<8xf32>
// F16-NEXT: bagua.all_reduce mean %{{.*}} over [node] : tensor<8xbf16>
// F16-NEXT: bagua.sgd (%w1) grad %[[B]]
// NONE-NOT: bagua.cast
// The gradient goes through memory of the runtime's and comes back to its place; neither cast is the program's.
// PLACED: bagua.cast %{{.*}} on comm at [buckets:0] : tensor<8xf32> -> tensor<8xbf16>
// PLACED-NEXT: bagua.all_reduce mean %{{.*}} over [node] on comm at [buckets:0] : tensor<8xbf16>
// PLACED-NEXT: bagua.cast %{{.*}} on comm at ["w1.grad"] : tensor<8xbf16> -> tensor<8xf32>
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !h) {
  %loss = bagua.compute forward "loss"(%x, %w1) : (!t, !t) -> (tensor<f32>)
  %mean = bagua.all_reduce mean %loss over [node] : tensor<f32>
  bagua.compute forward "print"(%mean) : (tensor<f32>) -> ()
  %g1, %g2 = bagua.compute backward "l"(%x, %w1, %w2) : (!t, !t, !h) -> (!t grad "w1", !h grad "w2")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %r2 = bagua.all_reduce mean %g2 over [node] : !h
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !h
  bagua.yield %n1, %n2 : !t, !h
}
