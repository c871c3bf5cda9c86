// One gradient is scaled before it is reduced, so nobody is promised it: what updates by the runtime read is a copy of its mean.
!t = tensor<1024xf32>
!u = tensor<4096xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !u) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 1000 measured : (!t, !t) -> (!t)
  %b = bagua.compute forward "f"(%a, %v) cost_ns 1000 measured : (!t, !u) -> (!t)
  %h = bagua.compute backward "l"(%b, %v) cost_ns 1000 measured : (!t, !u) -> (!u grad "v")
  %g = bagua.compute backward "l"(%a, %w) cost_ns 1000 measured : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.8] (%g) : !t
  %r = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %m = bagua.sgd (%v) grad %h lr 0.1 : !u
  bagua.yield %n, %m : !t, !u
}
