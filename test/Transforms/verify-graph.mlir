// RUN: bagua-opt --bagua-verify-graph %s -o %t
// RUN: bagua-opt %s | diff - %t

// The pass changes nothing, at either level, and a module without steps has nothing to
// prove. What it accepts and refuses is in test/Dialect/Bagua/facts*.mlir.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @graph on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
bagua.step @scheduled on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) on compute at ["w.grad"] : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on comm at ["w"] : !t
  bagua.yield %n : !t
}
module {}
