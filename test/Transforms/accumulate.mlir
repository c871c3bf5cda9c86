// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3}))' %s --split-input-file | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3},bagua-relax),bagua-verify-graph)' %s --split-input-file -o /dev/null
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3},bagua-coarsen))' %s --split-input-file | FileCheck %s --check-prefix=COARSE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate))' %s --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=0}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=2},bagua-accumulate{micro-batches=2}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-accumulate{micro-batches=2}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=LATE

// Gradients of several micro-batches are added up, and reduced once.
// NONE: error: expected micro-batches of at least 1, found 0
// TWICE: error: expected a step of one micro-batch, found an op of a numbered one
// LATE: error: expected a step before bagua-relax, found one with a contract

// One micro-batch is the step as it was.
// ONE-NOT: micro_batch
!t = tensor<8xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]

// The loss that is reduced, and the gradient, add to what the micro-batch before has made (4 and 32 bytes to read); the
// statistics go from one to the next; a name is given once. The update is done once, by the last gradient.
// CHECK-LABEL: bagua.step @sums
// CHECK-NEXT: %[[A0:.*]]:2 = bagua.compute forward "norm"(%x, %w, %mean) flops 100 bytes 64 {bagua.micro_batch = 0 : i64} : {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: %[[L0:.*]] = bagua.compute forward "loss"(%[[A0]]#0) bytes 36 {{.*}} -> (tensor<f32>)
// CHECK-NEXT: %[[G0:.*]] = bagua.compute backward "norm"(%[[A0]]#0, %x) bytes 96 {bagua.micro_batch = 0 : i64} : {{.*}} -> (tensor<8xf32>)
// CHECK-NEXT: %[[A1:.*]]:2 = bagua.compute forward "norm"(%x, %w, %[[A0]]#1)
// CHECK-NEXT: %[[L1:.*]] = bagua.compute forward "loss"(%[[A1]]#0, %[[L0]]) bytes 40
// CHECK-NEXT: %[[G1:.*]] = bagua.compute backward "norm"(%[[A1]]#0, %x, %[[G0]]) bytes 128
// CHECK-NEXT: %[[A2:.*]]:2 = bagua.compute forward "norm"(%x, %w, %[[A1]]#1) {{.*}} as "activation", tensor<8xf32>)
// CHECK-NEXT: %[[L2:.*]] = bagua.compute forward "loss"(%[[A2]]#0, %[[L1]]) bytes 40
// CHECK-NEXT: %[[R:.*]] = bagua.all_reduce mean %[[L2]] over [node]
// CHECK-NEXT: bagua.compute forward "print"(%[[R]])
// CHECK-NEXT: %[[G2:.*]] = bagua.compute backward "norm"(%[[A2]]#0, %x, %[[G1]]) bytes 128 {bagua.micro_batch = 2 : i64} : {{.*}} grad "w"
// CHECK-NEXT: %[[N:.*]] = bagua.sgd (%w) grad %[[G2]]
// CHECK-NEXT: bagua.yield %[[N]], %[[A2]]#1
//
// Each micro-batch is cut as the only one would be.
// COARSE-LABEL: bagua.step @sums
// COARSE-COUNT-3: bagua.compute forward "norm"(
// COARSE-LABEL: bagua.step @dispatch
bagua.step @sums on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %mean "mean" varies [node] : !t) {
  %a, %m = bagua.compute forward "norm"(%x, %w, %mean) flops 100 bytes 64 : (!t, !t, !t) -> (!t as "activation", !t)
  %l = bagua.compute forward "loss"(%a) bytes 36 : (!t) -> (!s)
  %r = bagua.all_reduce mean %l over [node] : !s
  bagua.compute forward "print"(%r) : (!s) -> ()
  %g = bagua.compute backward "norm"(%a, %x) bytes 96 : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}

// -----

!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]

// What lies between activations is exchanged in every micro-batch, a name stands for the last; a param that is gathered
// once serves all; a norm of reduced gradients, and what it scales, come after the last.
// CHECK-LABEL: bagua.step @dispatch
// CHECK: %[[W:.*]] = bagua.all_gather %w
// CHECK-COUNT-2: bagua.all_to_all {{.*}} {bagua.micro_batch = {{[01]}} : i64} : tensor<8xf32> -> tensor<8xf32>{{$}}
// CHECK: bagua.all_to_all {{.*}} {bagua.micro_batch = 2 : i64} : tensor<8xf32> -> tensor<8xf32> as "tokens"
// CHECK: bagua.compute backward "expert"{{.*}} grad "v"
// CHECK-NEXT: bagua.all_reduce mean
// CHECK-NEXT: bagua.compute backward "norm"
// CHECK-NEXT: bagua.compute update "scale"
// CHECK-NOT: bagua.all_gather
bagua.step @dispatch on @pod data [node] (batch %x "x" : !t, param %w "w" varies [tp] : tensor<8xf32, #bagua.layout<shard [tp]>>, param %v "v" varies [tp] : !t) {
  %a = bagua.compute forward "gate"(%x) : (!t) -> (!t)
  %i = bagua.all_to_all %a over [tp] split 0 concat 0 : !t -> !t as "tokens"
  %f = bagua.all_gather %w over [tp] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !t
  %e = bagua.compute forward "expert"(%i, %v, %f) : (!t, !t, !t) -> (!t)
  %g = bagua.compute backward "expert"(%e, %i) : (!t, !t) -> (!t grad "v")
  %r = bagua.all_reduce mean %g over [node] : !t
  %s = bagua.compute backward "norm"(%r) : (!t) -> (!t)
  %n = bagua.compute update "scale"(%v, %r, %s) : (!t, !t, !t) -> (!t)
  bagua.yield %w, %n : tensor<8xf32, #bagua.layout<shard [tp]>>, !t
}
