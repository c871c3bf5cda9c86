// Arithmetic between reduction and update, and between gradient and reduction: no check knows the update.
!t = tensor<1024xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %h = bagua.compute backward "k"(%a, %v) cost_ns 100000 measured : (!t, !t) -> (!t grad "v")
  %r = bagua.all_reduce mean %g over [node] : !t
  %s = bagua.linear [0.8] (%r) : !t
  %n = bagua.sgd (%w) grad %s lr 0.1 : !t
  %l = bagua.linear [0.8] (%h) : !t
  %q = bagua.all_reduce mean %l over [node] : !t
  %m = bagua.sgd (%v) grad %q lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}
