// Experts along `gpu`: tokens are sent there and back.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<10x100xf32>, param %w "w" : !t, param %e "expert" varies [gpu] : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (tensor<10x100xf32>, !t) -> (tensor<10x100xf32>)
  %i = bagua.all_to_all %a over [gpu] split 0 concat 1 : tensor<10x100xf32> -> tensor<5x200xf32>
  %y = bagua.compute forward "exp"(%i, %e) cost_ns 100000 measured : (tensor<5x200xf32>, !t) -> (tensor<5x200xf32>)
  %o = bagua.all_to_all %y over [gpu] split 1 concat 0 : tensor<5x200xf32> -> tensor<10x100xf32>
  %d, %h = bagua.compute backward "le"(%o, %e) cost_ns 100000 measured : (tensor<10x100xf32>, !t) -> (tensor<10x100xf32>, !t grad "expert")
  %g = bagua.compute backward "l"(%d, %w) cost_ns 100000 measured : (tensor<10x100xf32>, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %m = bagua.sgd (%e) grad %h lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}
