// ZeRO-1 by hand: the moments exist in parts, and each rank updates its part of the param.
!t = tensor<1000xf32>
#z = #bagua.layout<shard [node, gpu]>
!z = tensor<1000xf32, #z>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !z) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node, gpu] : !t -> !z
  %ws = bagua.slice %w : !t -> !z
  %n, %mn = bagua.sgd (%ws, %m) momentum 0.9 grad %r lr 0.1 : !z
  %nn = bagua.all_gather %n over [node, gpu] : !z -> !t
  bagua.yield %nn, %mn : !t, !z
}
