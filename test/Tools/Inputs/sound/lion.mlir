// Lion: the step and the next moment read the moment and the gradient, by boxes of one name.
!t = tensor<1024xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %u = bagua.compute update "multiply"(%g) : (!t) -> (!t)
  %v = bagua.compute update "multiply"(%g) : (!t) -> (!t)
  %n = bagua.compute update "sign"(%w, %m, %u) : (!t, !t, !t) -> (!t)
  %o = bagua.linear [0.99, 1.0] (%m, %v) : !t
  bagua.yield %n, %o : !t, !t
}
