// RUN: bagua-opt --bagua-strategy='custom{updates=runtime}' %s | bagua-translate --export-plan -o %t.bagua
// RUN: bagua-translate --print-plan %t.bagua | FileCheck %s
// RUN: bagua-translate --plan-to-json %t.bagua | FileCheck %s --check-prefix=JSON

// A bias correction of given moments takes the betas that they were made with into the plan, whose loader refuses it
// without; so does the writer.
// CHECK: update adam_apply {{.*}}'w', 'm', 'v', 'lr' -> 'w'
// JSON: "opcode": "AdamApply"
// JSON: "constants": [
// JSON-NEXT: 9.99999993922529e-09,
// JSON-NEXT: 0.8999999761581421,
// JSON-NEXT: 0.9800000190734863
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]
bagua.step @qadam on @pod data [node] (batch %x "x" : !t, input %lr "lr" : tensor<f32>,
    param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %g = bagua.compute backward "l"(%x, %w) cost_ns 1000 measured : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%m, %g) : !t
  %mn = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.adam_apply %w, %mn, %v betas [0.9, 0.98] bias_correction moments lr %lr : !t, tensor<f32>
  bagua.yield %n, %mn, %v : !t, !t, !t
}
