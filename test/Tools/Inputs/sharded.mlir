// ZeRO-1 on one tensor: the momentum lies in shards.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !z) {
  %g = bagua.compute backward "l"(%x, %w) cost_ns 1000 measured : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %o = bagua.slice %w : !t -> !z
  %n, %mn = bagua.sgd (%o, %m) momentum 0.9 grad %s lr 0.1 : !z
  %r = bagua.all_gather %n over [node] : !z -> !t
  bagua.yield %r, %mn : !t, !z
}
