// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What structured arithmetic may not be.

// A combination has a term.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected at least one operand}}
  %r = "bagua.linear"() <{coefficients = array<f32>}> : () -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Each term has a coefficient.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one coefficient for each of 2 operands, found 1}}
  %r = bagua.linear [0.5] (%x, %w) : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Coefficients are numbers.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected finite coefficients}}
  %r = "bagua.linear"(%x) <{coefficients = array<f32: 0x7F800000>}> : (tensor<8xf32>) -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A hexadecimal literal would be the bits of a float64, and nearly 0.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a decimal number, found a hexadecimal one}}
  %r = bagua.linear [-0x3DCCCCCD] (%x) : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A rate is a number that float32 has.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a number that float32 has}}
  %r = bagua.sgd (%w) grad %x lr 1.0e39 : tensor<8xf32>
  bagua.yield %r : tensor<8xf32>
}

// -----

// Terms have the result's type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %e "e" : tensor<4xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected operands of the result's type 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %r = "bagua.linear"(%e) <{coefficients = array<f32: 1.0>}> : (tensor<4xf32>) -> tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Plain SGD has one state
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected momentum of sgd with 2 states, found 0 constants}}
  %n, %k = bagua.sgd (%w, %m) grad %g lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// ... and momentum is a second.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected no constants of sgd with 1 state, found 1 constant}}
  %n = bagua.sgd (%w) momentum 0.9 grad %g lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// There is a learning rate
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected a learning rate, as a value or as an attribute}}
  %n = "bagua.sgd"(%w, %g) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// ... and only one.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected a learning rate, as a value or as an attribute}}
  %n = "bagua.sgd"(%w, %g, %lr) <{lr_value = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// Each state has a next one.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected one result for each of 1 states, found 2}}
  %n:2 = "bagua.sgd"(%w, %g) <{lr_value = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// States, old and new, have the gradient's type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected states of the gradient's type 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %n = "bagua.sgd"(%w, %g) <{lr_value = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// Adam has a param and two moments.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected 3 states (param, first moment and second moment) of adam, found 2}}
  %n, %k = bagua.adam (%w, %m) grad %g lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// Betas are rates of decay.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected a beta2 of adam of at least 0 and below 1, found 1}}
  %n, %k, %j = bagua.adam (%w, %m, %m) betas [0.9, 1.0] grad %g lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// Bias is corrected in one of two ways, or not.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected none, moments or step_size, found 'both'}}
  %n, %k, %j = bagua.adam (%w, %m, %m) bias_correction both grad %g lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// Adam has a learning rate too.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>, input %lr "lr" : tensor<f32>) {
  // expected-error @+1 {{expected a learning rate, as a value or as an attribute}}
  %n:3 = "bagua.adam"(%w, %m, %m, %g) <{operandSegmentSizes = array<i32: 3, 1, 0>}> : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// A product is of matrices.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %p "p" : tensor<6x4xf32>, param %q "q" : tensor<6x3xf32>, param %v "v" : tensor<6xf32>) {
  // expected-error @+1 {{expected a matrix of floats without layout, found 'tensor<6xf32>'}}
  %r = bagua.matmul %p, %v : tensor<6x4xf32>, tensor<6xf32> -> tensor<6x6xf32>
  bagua.yield %p, %q, %v : tensor<6x4xf32>, tensor<6x3xf32>, tensor<6xf32>
}

// -----

// Inner dimensions agree.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %p "p" : tensor<6x4xf32>, param %q "q" : tensor<6x3xf32>, param %v "v" : tensor<6xf32>) {
  // expected-error @+1 {{expected inner dimensions to agree, found 4 and 6}}
  %r = bagua.matmul %p, %q : tensor<6x4xf32>, tensor<6x3xf32> -> tensor<6x3xf32>
  bagua.yield %p, %q, %v : tensor<6x4xf32>, tensor<6x3xf32>, tensor<6xf32>
}

// -----

// Outer dimensions are the result's.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %p "p" : tensor<6x4xf32>, param %q "q" : tensor<6x3xf32>, param %v "v" : tensor<6xf32>) {
  // expected-error @+1 {{expected result 'tensor<4x3xf32>', found 'tensor<3x4xf32>'}}
  %r = bagua.matmul transpose_lhs %p, %q : tensor<6x4xf32>, tensor<6x3xf32> -> tensor<3x4xf32>
  bagua.yield %p, %q, %v : tensor<6x4xf32>, tensor<6x3xf32>, tensor<6xf32>
}

// -----

// Columns of a matrix are made orthonormal.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %p "p" : tensor<6x4xf32>, param %q "q" : tensor<6x3xf32>, param %v "v" : tensor<6xf32>) {
  // expected-error @+1 {{expected a matrix of floats without layout, found 'tensor<6xf32>'}}
  %r = bagua.orthonormalize %v : tensor<6xf32>
  bagua.yield %p, %q, %v : tensor<6x4xf32>, tensor<6x3xf32>, tensor<6xf32>
}

// -----

// A bias is that of moments made with certain betas.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, optimizer %v "v" : tensor<8xf32>) {
  %lr = bagua.compute forward "rate"() : () -> (tensor<f32>)
  // expected-error @+1 {{expected eps, beta1 and beta2 of adam_apply with 1 state and bias correction moments, found 1 constant}}
  %n = bagua.adam_apply %w, %m, %v bias_correction moments lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %n, %m, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Without a correction nothing depends on them.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, optimizer %v "v" : tensor<8xf32>) {
  %lr = bagua.compute forward "rate"() : () -> (tensor<f32>)
  // expected-error @+1 {{expected eps of adam_apply with 1 state and bias correction none, found 3 constants}}
  %n = bagua.adam_apply %w, %m, %v betas [0.9, 0.99] lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %n, %m, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// They are shares.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, optimizer %v "v" : tensor<8xf32>) {
  %lr = bagua.compute forward "rate"() : () -> (tensor<f32>)
  // expected-error @+1 {{expected a beta2 of adam_apply of at least 0 and below 1, found 1}}
  %n = bagua.adam_apply %w, %m, %v betas [0.9, 1.0] bias_correction step_size lr %lr : tensor<8xf32>, tensor<f32>
  bagua.yield %n, %m, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A norm is of floats, of which each rank has some or all.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xi32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected floats, whole or in shards, found 'tensor<8xi32>'}}
  %r = bagua.squared_norm %x : tensor<8xi32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A row is named
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, batch %g "g" : tensor<8xf32>) {
  // expected-error @+1 {{expected lamb, lars}}
  %n = bagua.update (%w) by adagrad [] grad %g lr 0.1 : tensor<8xf32>
  bagua.yield %n : tensor<8xf32>
}

// -----

// ... that has no op of its own.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, batch %g "g" : tensor<8xf32>) {
  // expected-error @+1 {{found sgd, which has an op of its own}}
  %n = bagua.update (%w) by sgd [] grad %g lr 0.1 : tensor<8xf32>
  bagua.yield %n : tensor<8xf32>
}

// -----

// Only an update that scales a direction has one.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, batch %g "g" : tensor<8xf32>) {
  // expected-error @+1 {{expected an update that scales a direction by norms, found sgd}}
  %n = bagua.direction (%w) by sgd [] grad %g : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A direction is as large as the gradient.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<4xf32>) {
  // expected-error @+1 {{expected states and a direction of the gradient's type 'tensor<4xf32>', found 'tensor<8xf32>'}}
  %d = "bagua.direction"(%w, %m, %g) <{rule = #bagua<update_rule lars>, constants = array<f32: 0.9, 0.0, 0.001, 0.0>}> : (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// LARS has four constants.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>) {
  // expected-error @+1 {{expected momentum, decay, trust_coefficient and eps of lars with 2 states, found 1 constant}}
  %d = bagua.direction (%w, %m) by lars [0.9] grad %g : tensor<8xf32>
  bagua.yield %w, %m : tensor<8xf32>, tensor<8xf32>
}

// -----

// It needs two norms.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>, batch %g "g" : tensor<8xf32>) {
  // expected-error @+1 {{expected 2 squared norms (of the param and of the direction) for lars, found 0}}
  %n, %o = bagua.update (%w, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %g lr 0.1 : tensor<8xf32>
  bagua.yield %n, %o : tensor<8xf32>, tensor<8xf32>
}

// -----

// A server does not have the norms.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (input %a "a" : tensor<f32>, param %w "w" : tensor<8xf32, #bagua.layout<server>>, optimizer %m "m" : tensor<8xf32, #bagua.layout<server>>, batch %x "x" : tensor<8xf32>) {
  %g = bagua.push mean %x over [node, gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<server>>
  // expected-error @+1 {{expected states that are whole or in shards for lars, found 'tensor<8xf32, #bagua.layout<server>>'}}
  %n, %o = bagua.update (%w, %m) by lars [0.9, 0.0, 0.001, 0.0] grad %g norms %a, %a lr 0.1 : tensor<8xf32, #bagua.layout<server>>
  bagua.yield %n, %o : tensor<8xf32, #bagua.layout<server>>, tensor<8xf32, #bagua.layout<server>>
}
