// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3}))' %s --split-input-file | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3},bagua-relax),bagua-verify-graph)' %s --split-input-file -o /dev/null
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=3},bagua-coarsen))' %s --split-input-file | FileCheck %s --check-prefix=COARSE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate))' %s --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=0}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=400000}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=2},bagua-accumulate{micro-batches=2}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-accumulate{micro-batches=2}))' %s --split-input-file 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: sed 's/"l"(%d, %w, %e)/"l"(%d, %w, %gv)/' %s > %t.two.mlir
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=2}))' %t.two.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: sed 's/batch %x/input %x/' %s > %t.empty.mlir
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=2}))' %t.empty.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=EMPTY

// Gradients of several micro-batches are added up, and reduced once.
// NONE: error: expected micro-batches of at least 1, found 0
// MANY: error: expected at most 1000000 ops in all micro-batches, found 400000 of 3 ops
// TWICE: error: expected a step of one micro-batch, found an op of a numbered one
// LATE: error: expected a step before bagua-relax, found one with a contract
// TWO: error: makes the gradient of 'w' from another gradient, which all micro-batches have added to first
// EMPTY: error: expected forward and backward that depend on a batch, found none

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

// -----

!t = tensor<8xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// Once a step: what depends on no batch (a rate, the number of the step), wherever it stands. In each micro-batch: means
// of the whole batch, which the next one goes on from, and what is made of them; values that backward uses are no sums.
// CHECK-LABEL: bagua.step @states
// CHECK-NEXT: %[[RATE:.*]] = bagua.compute forward "schedule"(%count)
// CHECK-NEXT: %[[COUNT:.*]] = bagua.compute update "count"(%count)
// CHECK-NEXT: %[[T0:.*]] = bagua.compute forward "scale"(%mean) {bagua.micro_batch = 0 : i64}
// CHECK-NEXT: %[[L0:.*]]:2 = bagua.compute forward "logits"(%x, %w, %[[T0]])
// CHECK-NEXT: %[[M0:.*]] = bagua.all_reduce mean %[[L0]]#1
// CHECK-NEXT: %[[D0:.*]] = bagua.compute backward "loss"(%[[L0]]#0, %[[COUNT]])
// CHECK-NEXT: %[[E0:.*]]:2 = bagua.compute backward "head"(%[[D0]], %v)
// CHECK-NEXT: %[[G0:.*]] = bagua.compute backward "l"(%[[D0]], %w, %[[E0]]#0)
// CHECK-NEXT: bagua.compute forward "scale"(%[[M0]]) {bagua.micro_batch = 1 : i64}
// CHECK: bagua.compute forward "scale"({{.*}}) {bagua.micro_batch = 2 : i64}
// CHECK-NEXT: %[[L2:.*]]:2 = bagua.compute forward "logits"
// CHECK-NEXT: %[[M2:.*]] = bagua.all_reduce mean %[[L2]]#1
// CHECK-NEXT: bagua.compute forward "output"(%[[L2]]#0)
// CHECK-NOT: micro_batch = 3
// CHECK: %[[N:.*]] = bagua.sgd (%w) grad %{{.*}} lr %[[RATE]]
// CHECK: bagua.yield %[[N]], %{{.*}}, %[[M2]], %[[COUNT]]
bagua.step @states on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, buffer %mean "mean" : !t, buffer %count "count" : !s) {
  %rate = bagua.compute forward "schedule"(%count) : (!s) -> (!s)
  %t = bagua.compute forward "scale"(%mean) : (!t) -> (!t)
  %l, %m = bagua.compute forward "logits"(%x, %w, %t) : (!t, !t, !t) -> (!t, !t)
  %r = bagua.all_reduce mean %m over [node] : !t
  bagua.compute forward "output"(%l) : (!t) -> ()
  %c = bagua.compute update "count"(%count) : (!s) -> (!s)
  %d = bagua.compute backward "loss"(%l, %c) : (!t, !s) -> (!t)
  %e, %gv = bagua.compute backward "head"(%d, %v) : (!t, !t) -> (!t, !t grad "v")
  %gw = bagua.compute backward "l"(%d, %w, %e) : (!t, !t, !t) -> (!t grad "w")
  %nw = bagua.sgd (%w) grad %gw lr %rate : !t, !s
  %nv = bagua.sgd (%v) grad %gv lr %rate : !t, !s
  bagua.yield %nw, %nv, %r, %c : !t, !t, !t, !s
}

// A step between iterations has nothing to repeat.
// CHECK-LABEL: bagua.step @between
// CHECK-NEXT: %[[HALF:.*]] = bagua.linear
// CHECK-NEXT: bagua.yield %[[HALF]]
bagua.step @between on @pod (optimizer %m "m" : !t) {
  %half = bagua.linear [0.5] (%m) : !t
  bagua.yield %half : !t
}
