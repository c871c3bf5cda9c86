// Each gradient is computed from the mean of the one before. The program takes that mean back in the midst of backward,
// so no update of the runtime's may keep it there.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>, #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, param %u "u" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v, %u) cost_ns 100000 measured : (!t, !t, !t, !t) -> (!t)
  %g = bagua.compute backward "wgrad"(%a, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] : !t
  %h = bagua.compute backward "vgrad"(%a, %v, %r) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "v")
  %s = bagua.all_reduce mean %h over [node, gpu] : !t
  %i = bagua.compute backward "ugrad"(%a, %u, %s) cost_ns 100000 measured : (!t, !t, !t) -> (!t grad "u")
  %nu = bagua.sgd (%u) grad %i lr 0.1 : !t
  %nv = bagua.sgd (%v) grad %s lr 0.1 : !t
  %nw = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %nw, %nv, %nu : !t, !t, !t
}
