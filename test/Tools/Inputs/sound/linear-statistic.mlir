// Statistics that arithmetic makes of a batch, and of what forward computes: the program has what they are made of.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t, buffer %f "sum" : !t) {
  %u = bagua.linear [0.5] (%x) : !t
  %ur = bagua.all_reduce sum %u over [node, gpu] : !t
  %a, %st = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !t)
  %v = bagua.linear [2.0, 0.5] (%st, %x) : !t
  %vr = bagua.all_reduce mean %v over [node, gpu] : !t
  %en = bagua.linear [0.9, 0.1] (%e, %vr) : !t
  %b = bagua.compute forward "norm"(%a, %vr) cost_ns 1000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%b, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %en, %ur : !t, !t, !t
}
