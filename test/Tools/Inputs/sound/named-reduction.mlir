// The program takes one gradient's mean by a name, so it lies in a place of its own, which the next step overwrites.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %v "v" : !t, param %w "w" : !t) {
  %a = bagua.compute forward "v"(%x, %v) cost_ns 100000 measured : (!t, !t) -> (!t)
  %d, %gw = bagua.compute backward "w"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !t grad "w")
  %gv = bagua.compute backward "v"(%d, %v) cost_ns 100000 measured : (!t, !t) -> (!t grad "v")
  %r = bagua.all_reduce mean %gw over [node, gpu] : !t as "w.mean"
  %nw = bagua.sgd (%w) grad %r lr 0.1 : !t
  %nv = bagua.sgd (%v) grad %gv lr 0.1 : !t
  bagua.yield %nv, %nw : !t, !t
}
