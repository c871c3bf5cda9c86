// RUN: sed s/MODE/asp/ %s | not bagua-translate --export-plan 2>&1 | FileCheck %s --check-prefix=ASP
// RUN: sed 's/MODE/ssp(2)/' %s | not bagua-translate --export-plan 2>&1 | FileCheck %s --check-prefix=SSP

// In a plan a push is a reduction over all ranks, so a step whose servers apply each push as it arrives has no plan.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2
// ASP: error: expected consistency bsp, found asp, whose servers apply each push as it arrives: no plan can say that yet
// SSP: error: expected consistency bsp, found ssp, whose servers
bagua.step @s on @pod data [node] consistency MODE streams [compute, comm] (batch %x "x" : !t, param %w "w" at "w" : !v)
    attributes {bagua.contract = []} {
  %p = bagua.pull %w over [node] on comm at [servers:32] : !v -> !t
  %g = bagua.compute backward "l"(%x, %x) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  %s = bagua.push sum %g over [node] on comm at [servers:0] : !t -> !v
  %n = bagua.sgd (%w) grad %s lr 0.1 on comm at ["w"] : !v
  bagua.yield %n : !v
}
