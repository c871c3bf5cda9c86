// The step reduces a statistic and a gradient by itself, in phases: scatter in a node, sum between nodes, gather.
!t = tensor<1000xf32>
#z = #bagua.layout<shard [gpu]>
!z = tensor<1000xf32, #z>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %v "v" : !t, param %w "w" : !t) {
  %s = bagua.compute forward "s"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %sp = bagua.reduce_scatter mean %s over [gpu] : !t -> !z
  %sn = bagua.all_reduce mean %sp over [node] : !z
  %sm = bagua.all_gather %sn over [gpu] : !z -> !t
  %gw = bagua.compute backward "w"(%sm, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %gv = bagua.compute backward "v"(%gw, %v) cost_ns 100000 measured : (!t, !t) -> (!t grad "v")
  %p = bagua.reduce_scatter mean %gw over [gpu] : !t -> !z
  %n = bagua.all_reduce mean %p over [node] : !z
  %r = bagua.all_gather %n over [gpu] : !z -> !t
  %nw = bagua.sgd (%w) grad %r lr 0.1 : !t
  %nv = bagua.sgd (%v) grad %gv lr 0.1 : !t
  bagua.yield %nv, %nw : !t, !t
}
