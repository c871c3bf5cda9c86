// RUN: %round-trip
// RUN: bagua-opt --bagua-verify-graph %s -o /dev/null

// BlueConnect on three levels: layouts are pushed and popped as a stack.
!a = tensor<32x512xf32>
!s = tensor<f32>
!w1 = tensor<1024xf32>
!w2 = tensor<2048xf32>
!w3 = tensor<4096xf32>
!b = tensor<7168xf32>
!v0 = tensor<4096xf32>
!v1 = tensor<4096xf32, #bagua.layout<shard [gpu]>>
!v2 = tensor<4096xf32, #bagua.layout<shard [gpu], shard [node]>>
!v3 = tensor<4096xf32, #bagua.layout<shard [gpu], shard [node], shard [rack]>>
bagua.cluster @row axes [#bagua.axis<"rack", size = 2, latency_ns = 40000, bytes_per_s = 6000000000, sharers = 32>, #bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 8>, #bagua.axis<"gpu", size = 8, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @train on @row data [rack, node, gpu] (batch %x "batch" : !a, input %lr "lr" : !s, param %w "weight" : !v0) {
  %g = bagua.compute backward "all"(%x, %w) : (!a, !v0) -> (!v0 grad "weight")
  %1 = bagua.reduce_scatter mean %g over [gpu] : !v0 -> !v1
  %2 = bagua.reduce_scatter mean %1 over [node] : !v1 -> !v2
  %3 = bagua.reduce_scatter mean %2 over [rack] : !v2 -> !v3
  %4 = bagua.all_gather %3 over [rack] : !v3 -> !v2
  %5 = bagua.all_gather %4 over [node] : !v2 -> !v1
  %6 = bagua.all_gather %5 over [gpu] : !v1 -> !v0
  %wn = bagua.sgd (%w) grad %6 lr %lr : !v0, !s
  bagua.yield %wn : !v0
}
