// A statistic that is reduced within forward, and whose running mean is a state.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t) {
  %a, %st = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !t)
  %sr = bagua.all_reduce mean %st over [node, gpu] : !t
  %en = bagua.linear [0.9, 0.1] (%e, %sr) : !t
  %b = bagua.compute forward "norm"(%a, %sr) cost_ns 1000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%b, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %en : !t, !t
}
