// Arithmetic between reduction and update: no check knows such an update, so the program runs it and gets the mean.
!t = tensor<1024xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %s = bagua.linear [0.8] (%r) : !t
  %n = bagua.sgd (%w) grad %s lr 0.1 : !t
  bagua.yield %n : !t
}
