// The gradient of a param is a constant, made before anything is read.
!t = tensor<1024xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t) {
  %c = bagua.compute forward "constant"() cost_ns 10 measured : () -> (!t grad "v")
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w, %v) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %rc = bagua.all_reduce mean %c over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %m = bagua.sgd (%v) grad %rc lr 0.1 : !t
  bagua.yield %n, %m : !t, !t
}
