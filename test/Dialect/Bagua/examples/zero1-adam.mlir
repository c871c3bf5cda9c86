// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// ZeRO-1: moments exist only as shards; the bucket is striped.
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
!z1 = tensor<1024xf32, #z>
!z2 = tensor<2048xf32, #z>
!z3 = tensor<4096xf32, #z>
bagua.step @train on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3,
    optimizer %m1 "l1.m" : !z1, optimizer %m2 "l2.m" : !z2, optimizer %m3 "l3.m" : !z3,
    optimizer %v1 "l1.v" : !z1, optimizer %v2 "l2.v" : !z2, optimizer %v3 "l3.v" : !z3) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %b = bagua.concat %g3, %g2, %g1 striped #z : !w3, !w2, !w1 -> !b
  %c = bagua.reduce_scatter mean %b over [node, gpu] : !b -> !bz
  %s3, %s2, %s1 = bagua.split %c striped #z : !bz -> !z3, !z2, !z1
  %o1 = bagua.slice %w1 : !w1 -> !z1
  %o2 = bagua.slice %w2 : !w2 -> !z2
  %o3 = bagua.slice %w3 : !w3 -> !z3
  %u1, %m1n, %v1n = bagua.adam (%o1, %m1, %v1) grad %s1 lr %lr : !z1, !s
  %u2, %m2n, %v2n = bagua.adam (%o2, %m2, %v2) grad %s2 lr %lr : !z2, !s
  %u3, %m3n, %v3n = bagua.adam (%o3, %m3, %v3) grad %s3 lr %lr : !z3, !s
  %d = bagua.concat %u3, %u2, %u1 striped #z : !z3, !z2, !z1 -> !bz
  %e = bagua.all_gather %d over [node, gpu] : !bz -> !b
  %w3n, %w2n, %w1n = bagua.split %e striped #z : !b -> !w3, !w2, !w1
  bagua.yield %w1n, %w2n, %w3n, %m1n, %m2n, %m3n, %v1n, %v2n, %v3n : !w1, !w2, !w3, !z1, !z2, !z3, !z1, !z2, !z3
}
