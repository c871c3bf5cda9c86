// One value becomes two states.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, optimizer %sl "slow" : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %s2 = bagua.linear [0.5, 0.5] (%sl, %n) : !t
  bagua.yield %s2, %s2 : !t, !t
}
