// Local SGD between nodes: a param that may differ between them, trained within nodes, then over all ranks; a row takes the first rank's values.
!x = tensor<8xf32>
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @inner on @pod data [node, gpu] (batch %x "x" : !x, param %w "w" varies [node] : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %r = bagua.all_reduce mean %g over [gpu] : !w
  %w1 = bagua.sgd (%w) grad %r lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.step @all on @pod data [node, gpu] (batch %x "x" : !x, param %w "w" varies [node] : !w) {
  %g = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] : !w
  %w1 = bagua.sgd (%w) grad %r lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.step @first on @pod (param %w "w" varies [node] : !w) {
  %root = bagua.slice %w : !w -> tensor<100xf32, #bagua.layout<root [node, gpu]>>
  %w1 = bagua.broadcast %root over [node, gpu] : tensor<100xf32, #bagua.layout<root [node, gpu]>> -> !w
  bagua.yield %w1 : !w
}
bagua.training @job {
  bagua.phase @first at 4
  bagua.phase @inner until 2
  bagua.phase @all
}
