// A statistic whose mean is the state itself, which nobody reads.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t) {
  %a, %st = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !t)
  %sr = bagua.all_reduce mean %st over [node, gpu] : !t
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %sr : !t, !t
}
