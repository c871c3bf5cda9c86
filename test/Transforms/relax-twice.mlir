// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax))' %s --split-input-file 2>&1 | FileCheck %s

// A contract says what a step meant when its communication was decided. It is kept, and what has been
// lost since is not promised anew: here the all_reduce of w1's gradient is gone.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// CHECK: error: expected a step without a contract, or with all gradients reduced, found a contract and the gradient of 'w1', which is not
// CHECK: note: the gradient is made here
bagua.step @lost on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t)
    attributes {bagua.contract = [#bagua.relation<"w1.grad" = mean "w1.grad" over [node]>, #bagua.relation<"w2.grad" = mean "w2.grad" over [node]>]} {
  %g1, %g2 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w1", !t grad "w2")
  %r2 = bagua.all_reduce mean %g2 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// -----

// Of another algorithm's promise this one knows nothing.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// CHECK: error: expected a contract of algorithm 'all-reduce', found one of 'gossip'
bagua.step @other on @pod data [node] (batch %x "x" : !t, param %w "w" : !t)
    attributes {bagua.contract = [], bagua.relaxation = "gossip"} {
  bagua.yield %w : !t
}

// -----

// Nothing is left to reduce, so the contract stays as it is, although another would say less: nobody uses w2's mean.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// CHECK-LABEL: bagua.step @kept
// CHECK-SAME: bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node]>, #bagua.relation<"w2.grad" = mean "w2.grad" over [node]>]
// CHECK-COUNT-1: bagua.all_reduce
// CHECK-NOT: bagua.all_reduce
bagua.step @kept on @pod data [node] (batch %x "x" : !t, param %w "w" : !t)
    attributes {bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node]>, #bagua.relation<"w2.grad" = mean "w2.grad" over [node]>]} {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
