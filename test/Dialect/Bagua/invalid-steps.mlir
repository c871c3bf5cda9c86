// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What a step and its yield may not be: syntax, arguments, names, gradients, state,
// streams and places; then what only the cluster can tell.

// An argument says its role first.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (
    // expected-error @+1 {{expected batch, input, param, optimizer, buffer, residual or replica, found 'weight'}}
    weight %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// A count counts updates of the optimizer's state,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected 'counted' of the optimizer's state, found it on param "w"}}
bagua.step @s on @pod data [node] (optimizer %t "t" : tensor<i32>, param %w "w" counted "t" : tensor<8xf32>) {
  bagua.yield %t, %w : tensor<i32>, tensor<8xf32>
}

// -----

// and is a number.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a number of the optimizer's state as the count of "m", found "t"}}
bagua.step @s on @pod data [node] (optimizer %t "t" : tensor<1xi32>, optimizer %m "m" counted "t" : tensor<8xf32>) {
  bagua.yield %t, %m : tensor<1xi32>, tensor<8xf32>
}

// -----

// It has a name.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a number of the optimizer's state as the count of "m", found ""}}
bagua.step @s on @pod data [node] (optimizer %m "m" counted "" : tensor<8xf32>) {
  bagua.yield %m : tensor<8xf32>
}

// -----

// Consistency of servers is one of three.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected bsp, asp or ssp(steps), found 'eventual'}}
bagua.step @s on @pod data [node, gpu] consistency eventual (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// Nor does the generic form take other words,
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+2 {{expected ::bagua::Consistency to be one of: bsp, asp, ssp}}
// expected-error @+1 {{failed to parse}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = [#bagua.argument<param "w">], consistency = #bagua<consistency eventual>}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// or text.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{Invalid attribute `consistency` in property conversion: "asp"}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = [#bagua.argument<param "w">], consistency = "asp"}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// Each argument is described.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected one description for each of 1 arguments, found 0}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = []}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// The description is an #bagua.argument.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected #bagua.argument for argument 0, found "w"}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = ["w"]}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// Staleness without ssp would mean nothing.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a staleness with ssp, and only there}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = [#bagua.argument<param "w">], staleness = 3}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// ssp says how stale.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a staleness with ssp, and only there}}
"bagua.step"() <{sym_name = "s", cluster = @pod, data_axes = #bagua.axes<[node]>, arguments = [#bagua.argument<param "w">], consistency = #bagua<consistency ssp>}> ({
^bb0(%w: tensor<8xf32>):
  "bagua.yield"(%w) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// Sizes are known when a step is compiled.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a tensor of static shape for argument 'w', found 'tensor<?xf32>'}}
bagua.step @s on @pod data [node, gpu] (param %w "w" : tensor<?xf32>) {
  bagua.yield %w : tensor<?xf32>
}

// -----

// State is tensors: encoded values live inside a step.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a tensor of static shape for argument 'w', found '!bagua.encoded<tensor<8xf32>, #bagua.signsgd>'}}
bagua.step @s on @pod data [node, gpu] (param %w "w" : !bagua.encoded<tensor<8xf32>, #bagua.signsgd>) {
  bagua.yield %w : !bagua.encoded<tensor<8xf32>, #bagua.signsgd>
}

// -----

// Only ops of the dialect stand in a step.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{can't stand in step 's'}}
  %y = builtin.unrealized_conversion_cast %x : tensor<8xf32> to tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// The program binds arguments by name, so names differ.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (
    // expected-note @+1 {{the other is here}}
    param %w "w" : tensor<8xf32>,
    // expected-error @+1 {{expected names that are unique in step 's', found 'w' twice}}
    buffer %b "w" : tensor<8xf32>) {
  bagua.yield %w, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// Named results are bound too: they share the arguments' name space.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (
    // expected-note @+1 {{the other is here}}
    batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected names that are unique in step 's', found 'x' twice}}
  %a = bagua.compute forward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> as "x")
  bagua.yield %w : tensor<8xf32>
}

// -----

// By no name, nothing can be bound.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] (
    batch %x "x" : tensor<8xf32>,
    // expected-error @+1 {{expected names of 1 to 4096 bytes in step 's', found one of 0}}
    param %w "" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected names of 1 to 4096 bytes in step 's', found one of 0}}
  %a = bagua.compute forward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> as "")
  bagua.yield %w : tensor<8xf32>
}

// -----

// A param has one gradient: a second `grad` would claim its name twice.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-note @+1 {{the other is here}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> grad "w")
  // expected-error @+1 {{expected names that are unique in step 's', found 'w.grad' twice}}
  %h = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> grad "w")
  bagua.yield %w : tensor<8xf32>
}

// -----

// A gradient is of a param of this step.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{marks the gradient of 'v', but the step has no param of that name}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> grad "v")
  bagua.yield %w : tensor<8xf32>
}

// -----

// A gradient is of a param, not of any other state.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, buffer %b "b" : tensor<8xf32>) {
  // expected-error @+1 {{marks the gradient of 'b', but the step has no param of that name}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32> grad "b")
  bagua.yield %b : tensor<8xf32>
}

// -----

// A gradient has its param's shape. (Its element type may differ: gradients may be float16.)
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>,
    // expected-note @+1 {{the param is here}}
    param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected the gradient of 'w' in the param's shape 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %g = bagua.compute backward "l"(%x) : (tensor<8xf32>) -> (tensor<4xf32> grad "w")
  bagua.yield %w : tensor<8xf32>
}

// -----

// Every state is yielded.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one value for each of the step's 1 state arguments, found 0}}
  bagua.yield
}

// -----

// A batch is bound anew each step, so nothing is yielded for it.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one value for each of the step's 1 state arguments, found 2}}
  bagua.yield %x, %w : tensor<8xf32>, tensor<8xf32>
}

// -----

// The next state has the state's type.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  %c = bagua.cast %w : tensor<8xf32> -> tensor<8xbf16>
  // expected-error @+1 {{expected 'tensor<8xf32>' for state 'w', found 'tensor<8xbf16>'}}
  bagua.yield %c : tensor<8xbf16>
}

// -----

// Streams are declared.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] streams [compute] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{is on stream 'comm', which is not among the step's streams ["compute"]}}
  %r = bagua.all_reduce mean %x over [node, gpu] on comm : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// There is one place for each result.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected one place for each of 1 results, found 2}}
  %r = bagua.all_reduce mean %x over [node, gpu] at [grads:0, grads:32] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Elements lie where the runtime can compute on them.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a place for 'tensor<8xf32>' at a multiple of 4 bytes, found byte 1 of arena 'grads'}}
  %r = bagua.all_reduce mean %x over [node] at [grads:1] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a place for 'tensor<8xf64>' at a multiple of 8 bytes, found byte 4 of arena 'grads'}}
bagua.step @s on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" at grads:4 : tensor<8xf64>) {
  bagua.yield %w : tensor<8xf64>
}

// -----

// A step is planned for a cluster.
// expected-error @+1 {{expected the name of a cluster, found @pod}}
bagua.step @s on @pod data [node] (param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// Data axes are the cluster's.
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{names axis 'rack', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
bagua.step @s on @pod data [rack] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// Axes are listed in the cluster's order, which is the order of a group's ranks.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected axes in the cluster's order [node, gpu], found [gpu, node]}}
bagua.step @s on @pod data [gpu, node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// What a state varies over is an axis.
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{names axis 'tp', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
bagua.step @s on @pod data [node] (param %w "w" varies [tp] : tensor<8xf32>) {
  bagua.yield %w : tensor<8xf32>
}

// -----

// A layout's axes are looked up, of arguments
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{names axis 'tp', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
bagua.step @s on @pod data [node] (param %w "w" : tensor<8xf32, #bagua.layout<shard [tp]>>) {
  bagua.yield %w : tensor<8xf32, #bagua.layout<shard [tp]>>
}

// -----

// ... and of results.
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{names axis 'tp', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
  %s = bagua.slice %w : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [tp]>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// So are the axes of an encoded value's parts and terms.
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{names axis 'tp', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
  %q = bagua.encode %w : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.signsgd, parts [tp]>)
  bagua.yield %w : tensor<8xf32>
}

// -----

// A collective's group is of the cluster.
// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{names axis 'tp', which cluster 'pod' doesn't have; its axes are [node, gpu]}}
  %r = bagua.all_reduce mean %x over [tp] : tensor<8xf32>
  bagua.yield %w : tensor<8xf32>
}

// -----

// Nothing is on servers where there are none.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{has a value on servers, but cluster 'pod' has none}}
  %s = bagua.push mean %x over [node, gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<server>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// A server's number is below their count.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>, #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
  // expected-error @+1 {{expected a server below 2, found 2}}
  %s = bagua.push mean %x over [node, gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<server 2>>
  bagua.yield %w : tensor<8xf32>
}

// -----

// What passes write beside a step is trusted later, so it is verified here.
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a list in 'bagua.contract', found 5 : i64}}
bagua.step @s on @pod data [node] () attributes {bagua.contract = 5 : i64} {
  bagua.yield
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected relations and updates in 'bagua.contract', found "w"}}
bagua.step @s on @pod data [node] () attributes {bagua.contract = ["w"]} {
  bagua.yield
}

// -----

// expected-note @+1 {{the cluster is here}}
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{names axis 'gpu', which cluster 'pod' doesn't have}}
bagua.step @s on @pod data [node] () attributes {bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [gpu]>]} {
  bagua.yield
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected numbers in 'bagua.meaning', found 5 : i64}}
bagua.step @s on @pod data [node] () attributes {bagua.meaning = 5 : i64} {
  bagua.yield
}

// -----

bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected a name in 'bagua.relaxation', found 5 : i64}}
bagua.step @s on @pod data [node] () attributes {bagua.relaxation = 5 : i64} {
  bagua.yield
}
