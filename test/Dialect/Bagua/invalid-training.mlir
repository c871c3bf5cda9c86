// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What phase tables may not be.

// A row has one condition.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected at most one of at_start, at, until, every and background_ns}}
  bagua.phase @a at_start until 5
}

// -----

// `every` goes with `offset`.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected 'every' and 'offset' together}}
  "bagua.phase"() <{step = @a, every = 4}> : () -> ()
}

// -----

// An offset is a remainder.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected an offset below 4, found 4}}
  bagua.phase @a every 4 offset 4
  bagua.phase @a
}

// -----

// A row runs a step.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected the name of a step, found @pod}}
  bagua.phase @pod
}

// -----

// Only a background step commits by adding.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @average on @pod (param %w "w" varies [node] : tensor<8xf32>) {
  bagua.yield add %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected 'background_ns' for step 'average', which yields with 'add'}}
  bagua.phase @average
}

// -----

// ... and a background step must: the state has moved on meanwhile.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a
  // expected-error @+1 {{expected 'yield add' in background step 'a'}}
  bagua.phase @a background_ns 1000
}

// -----

// The program binds nothing to a background step
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @average on @pod (input %lr "lr" : tensor<f32>, param %w "w" varies [node] : tensor<8xf32>) {
  bagua.yield add %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a
  // expected-error @+1 {{expected a background step without batch and input, found 'lr'}}
  bagua.phase @average background_ns 1000
}

// -----

// ... and runs nothing of it.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @average on @pod (param %w "w" varies [node] : tensor<8xf32>) {
  %c = bagua.compute update "l"(%w) : (tensor<8xf32>) -> (tensor<8xf32>)
  bagua.yield add %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a
  // expected-error @+1 {{expected a background step without compute, found 'l'}}
  bagua.phase @average background_ns 1000
}

// -----

// A row that always matches hides what follows.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-note @+1 {{this row}}
  bagua.phase @a
  // expected-error @+1 {{can never run: a row before it always matches}}
  bagua.phase @a until 5
}

// -----

// What runs at the start stands at the start.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a until 5
  // expected-error @+1 {{expected rows 'at_start' and 'at' before all others}}
  bagua.phase @a at_start
  bagua.phase @a
}

// -----

// Some row matches in every iteration,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
// expected-error @+1 {{expected a last foreground row that always matches}}
bagua.training @job {
  bagua.phase @a until 5
  bagua.phase @a every 2 offset 0
}

// -----

// ... and a background row is none of these.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @average on @pod (param %w "w" varies [node] : tensor<8xf32>) {
  bagua.yield add %w : tensor<8xf32>
}
// expected-error @+1 {{expected a last foreground row that always matches}}
bagua.training @job {
  bagua.phase @average background_ns 1000
}

// -----

// A state has one type in all steps.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @b on @pod (param %w "w" : tensor<4xf32>) {
  bagua.yield %w : tensor<4xf32>
}
bagua.training @job {
  bagua.phase @a until 5
  // expected-error @+1 {{expected state 'w' as param of type 'tensor<8xf32>' in step 'b', found param of type 'tensor<4xf32>'}}
  bagua.phase @b
}

// -----

// A state has one role in all steps.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @b on @pod (optimizer %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a until 5
  // expected-error @+1 {{expected state 'w' as param of type 'tensor<8xf32>' in step 'b', found optimizer of type 'tensor<8xf32>'}}
  bagua.phase @b
}

// -----

// A training is a table of phases, and nothing else.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected only bagua.phase in a training}}
  %0 = builtin.unrealized_conversion_cast to i32
  bagua.phase @a
}

// -----

// `at_start` is a row `at` an iteration already.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected at most one of at_start, at, until, every and background_ns}}
  bagua.phase @a at_start at 0
  bagua.phase @a
}

// -----

// Iterations count from 0.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{attribute 'at' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  bagua.phase @a at -1
  bagua.phase @a
}

// -----

// Rows `at` an iteration stand before the rows that they interrupt.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a until 5
  // expected-error @+1 {{expected rows 'at_start' and 'at' before all others}}
  bagua.phase @a at 3
  bagua.phase @a
}

// -----

// A step between iterations is no iteration: it has no batch,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @next on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected a step 'at 8' without batch and input, found 'x'}}
  bagua.phase @next at 8
  bagua.phase @a
}

// -----

// ... no input,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @next on @pod (input %lr "lr" : tensor<f32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected a step 'at 0' without batch and input, found 'lr'}}
  bagua.phase @next at_start
  bagua.phase @a
}

// -----

// ... and no compute, so no gradients either.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @next on @pod data [node] (param %w "w" : tensor<8xf32>) {
  %g = bagua.compute backward "l"(%w) : (tensor<8xf32>) -> (tensor<8xf32> grad "w")
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected a step 'at 8' without compute, found 'l'}}
  bagua.phase @next at 8
  bagua.phase @a
}

// -----

// It does not commit by adding, as a background step does.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @average on @pod (param %w "w" varies [node] : tensor<8xf32>) {
  bagua.yield add %w : tensor<8xf32>
}
bagua.training @job {
  // expected-error @+1 {{expected 'background_ns' for step 'average', which yields with 'add'}}
  bagua.phase @average at 8
  bagua.phase @a
}

// -----

// A forgotten axis would let ranks go apart.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.step @b on @pod (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}
bagua.training @job {
  bagua.phase @a until 8
  // expected-error @+1 {{expected data [node], as step 'a' has, found []}}
  bagua.phase @b
}
