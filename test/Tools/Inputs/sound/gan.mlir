// A GAN: the gradient of the generator goes through the updated discriminator.
!t = tensor<1024xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "disc" : !t, param %v "gen" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "disc")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %h = bagua.compute backward "k"(%a, %n, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "gen")
  %m = bagua.sgd (%v) grad %h lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}
