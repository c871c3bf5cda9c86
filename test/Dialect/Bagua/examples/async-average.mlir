// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// A background average that commits by adding.
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
bagua.step @average on @pod (param %w1 "l1.weight" varies [node, gpu] : !w1) {
  %m = bagua.all_reduce mean %w1 over [node, gpu] : !w1
  %d = bagua.linear [1.0, -1.0] (%m, %w1) : !w1
  bagua.yield add %d : !w1
}
bagua.step @sync on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "l1.weight" varies [node, gpu] : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "l1.weight")
  %r = bagua.all_reduce mean %g over [node, gpu] : !w1
  %u = bagua.sgd (%w) grad %r lr %lr : !w1, !s
  bagua.yield %u : !w1
}
bagua.step @local on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "l1.weight" varies [node, gpu] : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "l1.weight")
  %u = bagua.sgd (%w) grad %g lr %lr : !w1, !s
  bagua.yield %u : !w1
}
bagua.training @async {
  bagua.phase @sync until 100
  bagua.phase @local
  bagua.phase @average background_ns 500000000
}
