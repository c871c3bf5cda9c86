// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Decentralised: weights are mixed with a peer's while forward and backward read
// them.
!a = tensor<32x512xf32>
!s = tensor<f32>
!w1 = tensor<1024xf32>
!w2 = tensor<2048xf32>
!w3 = tensor<4096xf32>
!b = tensor<7168xf32>
bagua.cluster @pod
    axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 8>,
          #bagua.axis<"gpu", size = 8, latency_ns = 3000, bytes_per_s = 200000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
bagua.step @mix on @pod data [node, gpu] streams [compute, comm, update] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" varies [node, gpu] at weights:0 : !w1, param %w2 "l2.weight" varies [node, gpu] at weights:4096 : !w2, param %w3 "l3.weight" varies [node, gpu] at weights:12288 : !w3) {
  %b = bagua.concat %w1, %w2, %w3 on comm at [weights:0] : !w1, !w2, !w3 -> !b
  %p = bagua.exchange shift_one %b over [node, gpu] on comm at [peer:0] : !b -> !b
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %m = bagua.linear [0.5, 0.5] (%b, %p) on comm at [peer:0] : !b
  %m1, %m2, %m3 = bagua.split %m on comm at [peer:0, peer:4096, peer:12288] : !b -> !w1, !w2, !w3
  %w1n = bagua.sgd (%m1) grad %g1 lr %lr on update at [weights:0] : !w1, !s
  %w2n = bagua.sgd (%m2) grad %g2 lr %lr on update at [weights:4096] : !w2, !s
  %w3n = bagua.sgd (%m3) grad %g3 lr %lr on update at [weights:12288] : !w3, !s
  bagua.yield %w1n, %w2n, %w3n : !w1, !w2, !w3
}
bagua.step @local on @pod data [node, gpu] (
    batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" varies [node, gpu] : !w1, param %w2 "l2.weight" varies [node, gpu] : !w2, param %w3 "l3.weight" varies [node, gpu] : !w3) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %w1n = bagua.sgd (%w1) grad %g1 lr %lr : !w1, !s
  %w2n = bagua.sgd (%w2) grad %g2 lr %lr : !w2, !s
  %w3n = bagua.sgd (%w3) grad %g3 lr %lr : !w3, !s
  bagua.yield %w1n, %w2n, %w3n : !w1, !w2, !w3
}
bagua.training @job {
  bagua.phase @mix every 4 offset 0
  bagua.phase @local
}
