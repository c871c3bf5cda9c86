// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// DeAR with a sharded update: the gather overlaps the next step's forward.
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
!z1 = tensor<1024xf32, #bagua.layout<shard [node, gpu]>>
!z2 = tensor<2048xf32, #bagua.layout<shard [node, gpu]>>
!z3 = tensor<4096xf32, #bagua.layout<shard [node, gpu]>>
bagua.step @train on @pod data [node, gpu] (
    batch %x "batch" : !a, input %lr "lr" : !s,
    param %w1 "l1.weight" : !w1, param %w2 "l2.weight" : !w2, param %w3 "l3.weight" : !w3) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 400000 measured : (!a, !w1) -> (!a)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 500000 measured : (!a, !w2) -> (!a)
  %a3 = bagua.compute forward "l3"(%a2, %w3) cost_ns 300000 measured : (!a, !w3) -> (!a)
  %d3, %g3 = bagua.compute backward "l3"(%a3, %a2, %w3) cost_ns 600000 measured : (!a, !a, !w3) -> (!a, !w3 grad "l3.weight")
  %d2, %g2 = bagua.compute backward "l2"(%d3, %a1, %w2) cost_ns 900000 measured : (!a, !a, !w2) -> (!a, !w2 grad "l2.weight")
  %g1 = bagua.compute backward "l1"(%d2, %x) cost_ns 700000 measured : (!a, !a) -> (!w1 grad "l1.weight")
  %s3 = bagua.reduce_scatter mean %g3 over [node, gpu] on comm : !w3 -> !z3
  %s2 = bagua.reduce_scatter mean %g2 over [node, gpu] on comm : !w2 -> !z2
  %s1 = bagua.reduce_scatter mean %g1 over [node, gpu] on comm : !w1 -> !z1
  %o1 = bagua.slice %w1 : !w1 -> !z1
  %o2 = bagua.slice %w2 : !w2 -> !z2
  %o3 = bagua.slice %w3 : !w3 -> !z3
  %u1 = bagua.sgd (%o1) grad %s1 lr %lr on update : !z1, !s
  %w1n = bagua.all_gather %u1 over [node, gpu] on comm : !z1 -> !w1
  %u2 = bagua.sgd (%o2) grad %s2 lr %lr on update : !z2, !s
  %w2n = bagua.all_gather %u2 over [node, gpu] on comm : !z2 -> !w2
  %u3 = bagua.sgd (%o3) grad %s3 lr %lr on update : !z3, !s
  %w3n = bagua.all_gather %u3 over [node, gpu] on comm : !z3 -> !w3
  bagua.yield %w1n, %w2n, %w3n : !w1, !w2, !w3
}
