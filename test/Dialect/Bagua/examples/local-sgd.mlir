// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// Post-local SGD: a first broadcast, a warm-up, then local steps and averages.
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
!wr = tensor<1024xf32, #bagua.layout<root [node, gpu]>>
bagua.step @init on @pod (param %w "weight" varies [node, gpu] : !w1) {
  %0 = bagua.slice %w : !w1 -> !wr
  %wn = bagua.broadcast %0 over [node, gpu] : !wr -> !w1
  bagua.yield %wn : !w1
}
bagua.step @average on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "weight" varies [node, gpu] : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "weight")
  %u = bagua.sgd (%w) grad %g lr %lr : !w1, !s
  %wn = bagua.all_reduce mean %u over [node, gpu] : !w1
  bagua.yield %wn : !w1
}
bagua.step @sync on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "weight" varies [node, gpu] : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "weight")
  %r = bagua.all_reduce mean %g over [node, gpu] : !w1
  %u = bagua.sgd (%w) grad %r lr %lr : !w1, !s
  bagua.yield %u : !w1
}
bagua.step @local on @pod data [node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "weight" varies [node, gpu] : !w1) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !w1) -> (!w1 grad "weight")
  %u = bagua.sgd (%w) grad %g lr %lr : !w1, !s
  bagua.yield %u : !w1
}
bagua.training @post_local_sgd {
  bagua.phase @init at_start
  bagua.phase @sync until 5000
  bagua.phase @average every 8 offset 7
  bagua.phase @local
}
