// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Gradient accumulation, and a param that some ranks do not use.
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
!u = tensor<2xi8>
bagua.step @train on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "unused.weight" : !w3) {
  %c1, %c2 = bagua.compute backward "microbatches 0..2"(%x, %w1, %w2) cost_ns 7200000 measured : (!a, !w1, !w2) -> (!w1, !w2)
  %d, %g2, %used = bagua.compute backward "l2"(%x, %w2, %c2) : (!a, !w2, !w2) -> (!a, !w2 optional grad "l2.weight", !u as "used")
  %g1 = bagua.compute backward "l1"(%d, %w1, %c1) : (!a, !w1, !w1) -> (!w1 grad "l1.weight")
  %r2 = bagua.all_reduce mean %g2 over [node, gpu] : !w2
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !w1
  %ru = bagua.all_reduce max %used over [node, gpu] : !u
  %w2n = bagua.compute update "opt.l2"(%w2, %r2, %ru, %lr) : (!w2, !w2, !u, !s) -> (!w2)
  %w1n = bagua.sgd (%w1) grad %r1 lr %lr : !w1, !s
  bagua.yield %w1n, %w2n, %w3 : !w1, !w2, !w3
}
