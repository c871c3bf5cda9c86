// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=mg-wfbp}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=GREEDY
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=optimal}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=OPTIMAL
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=optimal wire=bf16}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=WIRE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-bucketize{policy=mg-wfbp form=rail}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=RAIL

// Buckets by what messages cost. Two nodes of two ranks behind a card of one byte a ns, 100 ns a message: an all_reduce of
// S bytes takes 200 + 2 S ns (direct messages: two rounds, half of two tensors through the card in each), a start-up is 200.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 100, bytes_per_s = 1000000000, sharers = 2>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 100, bytes_per_s = 1000000000>]

// The second gradient is ready 150 ns after the first, which is less than a start-up: they travel together. The third is
// ready 290 ns later, while their message is on its way, but waiting for it costs more than a start-up; the fourth comes
// before the third could start.
// GREEDY: %[[G4:.*]] = bagua.compute backward "l4"
// GREEDY: %[[G3:.*]] = bagua.compute backward "l3"
// GREEDY-NEXT: bagua.concat %[[G4]], %[[G3]]
// GREEDY: %[[G2:.*]] = bagua.compute backward "l2"
// GREEDY: %[[G1:.*]] = bagua.compute backward "l1"
// GREEDY-NEXT: bagua.concat %[[G2]], %[[G1]]
// The last all_reduce can end no earlier than with the last two together.
// OPTIMAL: bagua.compute backward "l1"
// OPTIMAL-NEXT: bagua.concat {{.*}} -> tensor<16xf32>
// Half the bytes on the wire, the same shape of the problem.
// WIRE: bagua.concat
// A rail has three messages, so three start-ups: more is merged.
// RAIL: bagua.concat {{.*}} -> tensor<32xf32>
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t, param %w4 "w4" : !t) {
  %g4 = bagua.compute backward "l4"(%x) cost_ns 60 measured : (!t) -> (!t grad "w4")
  %r4 = bagua.all_reduce mean %g4 over [node, gpu] : !t
  %g3 = bagua.compute backward "l3"(%x) cost_ns 150 measured : (!t) -> (!t grad "w3")
  %r3 = bagua.all_reduce mean %g3 over [node, gpu] : !t
  %g2 = bagua.compute backward "l2"(%x) cost_ns 290 measured : (!t) -> (!t grad "w2")
  %r2 = bagua.all_reduce mean %g2 over [node, gpu] : !t
  %g1 = bagua.compute backward "l1"(%x) cost_ns 60 measured : (!t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %r4 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3, %n4 : !t, !t, !t, !t
}
