// Tensor parallelism: a param in parts along `gpu`, whose activations are summed there, and one that all ranks share.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" varies [gpu] : !t, param %v "v" : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %f = bagua.all_reduce sum %a over [gpu] : !t
  %g = bagua.compute backward "l"(%f, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %h = bagua.compute backward "k"(%f, %v) cost_ns 100000 measured : (!t, !t) -> (!t grad "v")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %m = bagua.sgd (%v) grad %h lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}
