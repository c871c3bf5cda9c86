// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Top-k, whose terms every rank gets, and PowerSGD, which needs no codec.
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
!q = !bagua.encoded<!w3, #bagua.topk<count = 41>>
!t = !bagua.encoded<!w3, #bagua.topk<count = 41>, terms [node, gpu]>
!m = tensor<64x32xf32>
!p = tensor<64x2xf32>
!k = tensor<32x2xf32>
bagua.step @train on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3,
    residual %f "l3.residual" : !w3, residual %e "l2.residual" : !m, optimizer %k "l2.powersgd" : !k) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %q, %fn = bagua.encode %g3 feedback %f : (!w3, !w3) -> (!q, !w3)
  %t = bagua.all_gather %q over [node, gpu] : !q -> !t
  %r3 = bagua.decode mean %t : !t -> !w3
  %g2m = bagua.concat %g2 : !w2 -> !m
  %m = bagua.linear [1.0, 1.0] (%g2m, %e) : !m
  %p0 = bagua.matmul %m, %k : !m, !k -> !p
  %p1 = bagua.all_reduce mean %p0 over [node, gpu] : !p
  %p2 = bagua.orthonormalize %p1 : !p
  %k0 = bagua.matmul transpose_lhs %m, %p2 : !m, !p -> !k
  %kn = bagua.all_reduce mean %k0 over [node, gpu] : !k
  %mh = bagua.matmul transpose_rhs %p2, %kn : !p, !k -> !m
  %en = bagua.linear [1.0, -1.0] (%m, %mh) : !m
  %r2 = bagua.concat %mh : !m -> !w2
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !w1
  %w1n = bagua.sgd (%w1) grad %r1 lr %lr : !w1, !s
  %w2n = bagua.sgd (%w2) grad %r2 lr %lr : !w2, !s
  %w3n = bagua.sgd (%w3) grad %r3 lr %lr : !w3, !s
  bagua.yield %w1n, %w2n, %w3n, %fn, %en, %kn : !w1, !w2, !w3, !w3, !m, !k
}
