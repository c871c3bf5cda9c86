// Error feedback by the program: what it keeps is made of its own gradient and the mean, so both must be there.
!t = tensor<1000xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>, #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, buffer %e "e" varies [node, gpu] : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 20000 measured : (!t, !t) -> (!t)
  %g = bagua.compute backward "b"(%a, %w) cost_ns 20000 measured : (!t, !t) -> (!t grad "w")
  %c = bagua.compute forward "f2"(%a, %v, %e) cost_ns 20000 measured : (!t, !t, !t) -> (!t)
  %h = bagua.compute backward "c"(%c, %v) cost_ns 20000 measured : (!t, !t) -> (!t grad "v")
  %r = bagua.all_reduce mean %g over [node, gpu] : !t
  %q = bagua.all_reduce mean %h over [node, gpu] : !t
  %n = bagua.compute update "w"(%w, %r) cost_ns 20000 measured : (!t, !t) -> (!t)
  %m = bagua.compute update "v"(%v, %q) cost_ns 20000 measured : (!t, !t) -> (!t)
  %en = bagua.compute update "e"(%e, %q, %g) cost_ns 20000 measured : (!t, !t, !t) -> (!t)
  bagua.yield %n, %m, %en : !t, !t, !t
}
