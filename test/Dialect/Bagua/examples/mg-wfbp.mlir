// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// MG-WFBP: neighbours merge where the second is ready before the first would end.
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
bagua.step @train on @pod data [node, gpu] (
    batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %b0 = bagua.concat %g3, %g2 : !w3, !w2 -> tensor<6144xf32>
  %c0 = bagua.all_reduce mean %b0 over [node, gpu] : tensor<6144xf32>
  %r3, %r2 = bagua.split %c0 : tensor<6144xf32> -> !w3, !w2
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !w1
  %w1n = bagua.sgd (%w1) grad %r1 lr %lr : !w1, !s
  %w2n = bagua.sgd (%w2) grad %r2 lr %lr : !w2, !s
  %w3n = bagua.sgd (%w3) grad %r3 lr %lr : !w3, !s
  bagua.yield %w1n, %w2n, %w3n : !w1, !w2, !w3
}
