// An average of the params that compute makes from their old and new values.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %e "ema" : !t, param %v "v" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t)
  %g, %h = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w", !t grad "v")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %en = bagua.compute update "ema"(%e, %n, %w) cost_ns 1000 measured : (!t, !t, !t) -> (!t)
  %m = bagua.sgd (%v) grad %h lr 0.1 : !t
  %o = bagua.linear [1.0, 0.1, 0.0] (%m, %n, %w) : !t
  bagua.yield %n, %en, %m : !t, !t, !t
}
