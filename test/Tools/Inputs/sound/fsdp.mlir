// Fully sharded by hand: params and moments exist in parts, gathered for forward, and gradients are reduced into parts.
!t = tensor<1000xf32>
#z = #bagua.layout<shard [node, gpu]>
!z = tensor<1000xf32, #z>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !z, optimizer %m "m" : !z) {
  %wf = bagua.all_gather %w over [node, gpu] : !z -> !t
  %a = bagua.compute forward "f"(%x, %wf) cost_ns 100000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %wf) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node, gpu] : !t -> !z
  %n, %mn = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !z
  bagua.yield %n, %mn : !z, !z
}
