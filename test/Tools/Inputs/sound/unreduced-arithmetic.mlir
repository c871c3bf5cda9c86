// What each rank does to its gradients before the step reduces them: a decay that arithmetic adds, a clip that backward
// computes. Updates are arithmetic, too.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t)
  %g, %h = bagua.compute backward "l"(%a, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "w", !t grad "v")
  %d = bagua.linear [0.8, 0.01] (%g, %w) : !t
  %r = bagua.all_reduce mean %d over [node, gpu] : !t
  %n = bagua.linear [1.0, -0.1] (%w, %r) : !t
  %c = bagua.compute backward "clip"(%h) cost_ns 1000 measured : (!t) -> (!t)
  %s = bagua.all_reduce mean %c over [node, gpu] : !t
  %m = bagua.linear [1.0, -0.1] (%v, %s) : !t
  bagua.yield %n, %m : !t, !t
}
