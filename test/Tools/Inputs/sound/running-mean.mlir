// A statistic that is reduced for its running mean alone.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, buffer %e "mean" : !t) {
  %a, %st = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !t)
  %sr = bagua.all_reduce mean %st over [node, gpu] : !t
  %en = bagua.linear [0.9, 0.1] (%e, %sr) : !t
  %g, %h = bagua.compute backward "l"(%a, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "w", !t grad "v")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %m = bagua.sgd (%v) grad %h lr 0.1 : !t
  bagua.yield %n, %m, %en : !t, !t, !t
}
