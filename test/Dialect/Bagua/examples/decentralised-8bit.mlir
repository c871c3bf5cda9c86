// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Decentralised in 8 bits on a ring: replicas of the neighbours' weights.
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
!q = !bagua.encoded<!w1, #bagua.minmax_uint8>
bagua.step @train on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s,
    param %w "weight" varies [node, gpu] : !w1, replica %l "weight.left" : !w1, replica %r "weight.right" : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "weight")
  %u = bagua.sgd (%w) grad %g lr %lr : !w1, !s
  %t = bagua.linear [1.0, 0.33333334, 0.33333334, -1.6666666] (%u, %l, %r, %w) : !w1
  %q = bagua.encode %t : (!w1) -> (!q)
  %ql, %qr = bagua.exchange ring %q over [node, gpu] : !q -> !q, !q
  %dl = bagua.decode %ql : !q -> !w1
  %dr = bagua.decode %qr : !q -> !w1
  %d = bagua.decode %q : !q -> !w1
  %ln = bagua.linear [1.0, 1.0] (%l, %dl) : !w1
  %rn = bagua.linear [1.0, 1.0] (%r, %dr) : !w1
  %wn = bagua.linear [1.0, 1.0] (%w, %d) : !w1
  bagua.yield %wn, %ln, %rn : !w1, !w1, !w1
}
