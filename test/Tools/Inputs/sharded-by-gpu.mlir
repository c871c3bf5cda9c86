// Only the layout of an argument that nothing uses tells node and gpu apart.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [gpu]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %m "m" : !z) {
  %g = bagua.compute backward "l"(%x, %w) cost_ns 1000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %m : !t, !z
}
