// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// 1-bit Adam: a warm-up step, then momenta in one bit with two residuals.
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
#z = #bagua.layout<shard [node, gpu]>
!bz = tensor<7168xf32, #z>
!q = !bagua.encoded<!b, #bagua.onebit, parts [node, gpu]>
!t = !bagua.encoded<!bz, #bagua.onebit, terms [node, gpu]>
!q1 = !bagua.encoded<!bz, #bagua.onebit>
bagua.step @compressed on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3,
    optimizer %m1 "l1.m" : !w1, optimizer %m2 "l2.m" : !w2, optimizer %m3 "l3.m" : !w3,
    optimizer %v1 "l1.v" : !w1, optimizer %v2 "l2.v" : !w2, optimizer %v3 "l3.v" : !w3,
    residual %ew "bucket0.worker" : !b, residual %es "bucket0.server" : !bz) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %l1 = bagua.linear [0.9, 0.1] (%m1, %g1) : !w1
  %l2 = bagua.linear [0.9, 0.1] (%m2, %g2) : !w2
  %l3 = bagua.linear [0.9, 0.1] (%m3, %g3) : !w3
  %b = bagua.concat %l3, %l2, %l1 : !w3, !w2, !w1 -> !b
  %q, %ewn = bagua.encode %b feedback %ew : (!b, !b) -> (!q, !b)
  %t = bagua.all_to_all %q over [node, gpu] : !q -> !t
  %s = bagua.decode mean %t : !t -> !bz
  %p, %esn = bagua.encode %s feedback %es : (!bz, !bz) -> (!q1, !bz)
  %o = bagua.all_gather %p over [node, gpu] : !q1 -> !q
  %c = bagua.decode %o : !q -> !b
  %m3n, %m2n, %m1n = bagua.split %c : !b -> !w3, !w2, !w1
  %w1n = bagua.adam_apply %w1, %m1n, %v1 lr %lr : !w1, !s
  %w2n = bagua.adam_apply %w2, %m2n, %v2 lr %lr : !w2, !s
  %w3n = bagua.adam_apply %w3, %m3n, %v3 lr %lr : !w3, !s
  bagua.yield %w1n, %w2n, %w3n, %m1n, %m2n, %m3n, %v1, %v2, %v3, %ewn, %esn : !w1, !w2, !w3, !w1, !w2, !w3, !w1, !w2, !w3, !b, !bz
}
bagua.step @warmup on @pod data [node, gpu] (
    batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3,
    optimizer %m1 "l1.m" : !w1, optimizer %m2 "l2.m" : !w2, optimizer %m3 "l3.m" : !w3,
    optimizer %v1 "l1.v" : !w1, optimizer %v2 "l2.v" : !w2, optimizer %v3 "l3.v" : !w3) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %r3 = bagua.all_reduce mean %g3 over [node, gpu] : !w3
  %b1 = bagua.concat %g2, %g1 : !w2, !w1 -> tensor<3072xf32>
  %c1 = bagua.all_reduce mean %b1 over [node, gpu] : tensor<3072xf32>
  %r2, %r1 = bagua.split %c1 : tensor<3072xf32> -> !w2, !w1
  %w1n, %m1n, %v1n = bagua.adam (%w1, %m1, %v1) grad %r1 lr %lr : !w1, !s
  %w2n, %m2n, %v2n = bagua.adam (%w2, %m2, %v2) grad %r2 lr %lr : !w2, !s
  %w3n, %m3n, %v3n = bagua.adam (%w3, %m3, %v3) grad %r3 lr %lr : !w3, !s
  bagua.yield %w1n, %w2n, %w3n, %m1n, %m2n, %m3n, %v1n, %v2n, %v3n : !w1, !w2, !w3, !w1, !w2, !w3, !w1, !w2, !w3
}
bagua.training @job {
  bagua.phase @warmup until 1000
  bagua.phase @compressed
}
