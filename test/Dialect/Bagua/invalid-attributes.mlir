// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// Attributes and types check themselves as they are made, and so do the pieces of
// syntax that ops share. One case a message.

// A list of axes names each axis once.
// expected-error @+1 {{expected each axis once, found 'node' twice}}
module attributes {bagua.example = #bagua.axes<[node, node]>} {}

// -----

// A place is the program's, a named tensor or a byte of an arena.
// expected-error @+1 {{expected 'program', a name in quotes, or 'arena:byte', found 'nowhere'}}
module attributes {bagua.example = #bagua.place<nowhere>} {}

// -----

// Offsets in an arena are not negative.
// expected-error @+1 {{expected a byte offset of 0 to 281474976710656 in arena 'grads', found -4}}
module attributes {bagua.example = #bagua.place<grads:-4>} {}

// -----

// No arena is larger than any machine's memory, so what lies at an offset ends at a number.
// expected-error @+1 {{expected a byte offset of 0 to 281474976710656 in arena 'grads', found 9223372036854775000}}
module attributes {bagua.example = #bagua.place<grads:9223372036854775000>} {}

// -----

// `program` is a word of the syntax, so no arena is called that.
// expected-error @+1 {{'program' can't be the name of an arena}}
module attributes {bagua.example = #bagua.place<program:0>} {}

// -----

// There are four kinds of reduction.
// expected-error @+1 {{expected a reduction kind (sum, mean, min or max), found 'avg'}}
module attributes {bagua.example = #bagua.reduce_kind<avg>} {}

// -----

// Axis names are bare words, because lists of axes print them as such.
// expected-error @+1 {{expected an axis name of letters, digits, '_', '$' and '.', found 'my node'}}
module attributes {bagua.example = #bagua.axis<"my node", size = 1, latency_ns = 0, bytes_per_s = 1>} {}

// -----

// An axis has at least one coordinate.
// expected-error @+1 {{expected size of axis 'node' of at least 1, found 0}}
module attributes {bagua.example = #bagua.axis<"node", size = 0, latency_ns = 0, bytes_per_s = 1>} {}

// -----

// A latency is not negative.
// expected-error @+1 {{expected latency_ns of axis 'node' of at least 0, found -1}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = -1, bytes_per_s = 1>} {}

// -----

// A link moves something.
// expected-error @+1 {{expected bytes_per_s of axis 'node' of at least 1, found 0}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 0>} {}

// -----

// A link is shared by at least its own rank.
// expected-error @+1 {{expected sharers of axis 'node' of at least 1, found 0}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1, sharers = 0>} {}

// -----

// Beside compute a link has some part of its rate.
// expected-error @+1 {{expected overlapped_rate of axis 'bus' over 0 and at most 1, found 0.000000e+00}}
module attributes {bagua.example = #bagua.axis<"bus", size = 2, latency_ns = 0, bytes_per_s = 1, overlapped_rate = 0.0>} {}

// -----

// Of an op's start it is slower for some time.
// expected-error @+1 {{expected overlapped_ns of axis 'bus' of at least 0, found -5}}
module attributes {bagua.example = #bagua.axis<"bus", size = 2, latency_ns = 0, bytes_per_s = 1, overlapped_rate = 0.5, overlapped_ns = -5>} {}

// -----

// So have messages in flight together.
// expected-error @+1 {{expected concurrent_rate of axis 'bus' over 0 and at most 1, found 1.500000e+00}}
module attributes {bagua.example = #bagua.axis<"bus", size = 2, latency_ns = 0, bytes_per_s = 1, concurrent_rate = 1.5>} {}

// -----

// Each of them keeps the others off a link for some time.
// expected-error @+1 {{expected gap_ns of axis 'bus' of at least 0, found -1}}
module attributes {bagua.example = #bagua.axis<"bus", size = 2, latency_ns = 0, bytes_per_s = 1, gap_ns = -1>} {}

// -----

// Measured times are arrays of integers.
// expected-error @+1 {{expected measured times of 'all_reduce' as array<i64: bytes, ns, ...>, found 5 : i64}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1, table = {all_reduce = 5}>} {}

// -----

// Measured times come in pairs of bytes and ns.
// expected-error @+1 {{expected measured times of 'all_reduce' as array<i64: bytes, ns, ...>, found array<i64: 1024, 10, 2048>}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1, table = {all_reduce = array<i64: 1024, 10, 2048>}>} {}

// -----

// Measured times are at least one pair.
// expected-error @+1 {{expected measured times of 'all_reduce' as array<i64: bytes, ns, ...>, found array<i64>}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1, table = {all_reduce = array<i64>}>} {}

// -----

// Measured times ascend, so that what lies between can be interpolated.
// expected-error @+1 {{expected ascending bytes in the measured times of 'all_reduce', found 1024 after 2048}}
module attributes {bagua.example = #bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1, table = {all_reduce = array<i64: 2048, 10, 1024, 20>}>} {}

// -----

// A device computes and has memory.
// expected-error @+1 {{expected flop_per_s and bytes_per_s of at least 1, found 0 and 1}}
module attributes {bagua.example = #bagua.device<flop_per_s = 0, bytes_per_s = 1>} {}

// -----

// A launch takes no negative time.
// expected-error @+1 {{expected launch_ns and codec_bytes_per_s of at least 0, found -5 and 0}}
module attributes {bagua.example = #bagua.device<flop_per_s = 1, bytes_per_s = 1, launch_ns = -5>} {}

// -----

// Communication never makes compute faster.
// expected-error @+1 {{expected times of adam, linear, momentum and sgd, found 'copy'}}
module attributes {bagua.example = #bagua.host<{copy = array<i64: 1, 1>}>} {}

// -----

// expected-error @+1 {{expected times of 'linear', by which all other work goes, found none}}
module attributes {bagua.example = #bagua.host<{adam = array<i64: 1, 1>}>} {}

// -----

// expected-error @+1 {{expected measured times of 'linear' as array<i64: bytes, ns, ...>, found 7}}
module attributes {bagua.example = #bagua.host<{linear = 7 : i64}>} {}

// -----

// expected-error @+1 {{expected communication_slowdown of at least 1, found 5.000000e-01}}
module attributes {bagua.example = #bagua.device<flop_per_s = 1, bytes_per_s = 1, communication_slowdown = 0.5>} {}

// -----

// There are three kinds of layout entries.
// expected-error @+1 {{expected 'shard', 'root' or 'server', found 'split'}}
module attributes {bagua.example = #bagua.layout<split [gpu]>} {}

// -----

// Servers are numbered from 0.
// expected-error @+1 {{expected a server's number, found -2}}
module attributes {bagua.example = #bagua.layout<server -2>} {}

// -----

// No layout is no attribute, rather than an empty one.
// expected-error @+1 {{expected at least one entry in a layout}}
module attributes {bagua.example = #bagua.layout<>} {}

// -----

// What is on servers is not cut or moved further.
// expected-error @+1 {{expected 'server' as the last entry of a layout}}
module attributes {bagua.example = #bagua.layout<server, shard [gpu]>} {}

// -----

// An entry over no axis would say nothing.
// expected-error @+1 {{expected at least one axis in a layout's entry}}
module attributes {bagua.example = #bagua.layout<root []>} {}

// -----

// A tensor is cut over an axis once.
// expected-error @+1 {{expected each axis once in a layout, found 'gpu' twice}}
module attributes {bagua.example = #bagua.layout<shard [node, gpu], root [gpu]>} {}

// -----

// An argument has one of seven roles.
// expected-error @+1 {{expected a role, found 'weight'}}
module attributes {bagua.example = #bagua.argument<weight "w">} {}

// -----

// A result is named by its param or by itself.
// expected-error @+1 {{expected 'grad' or 'as', found both}}
module attributes {bagua.example = #bagua.result<grad "w" as "x">} {}

// -----

// Only gradients may be left out: zeros add nothing to a sum.
// expected-error @+1 {{expected 'grad' with 'optional'}}
module attributes {bagua.example = #bagua.result<optional as "x">} {}

// -----

// A contract's relation has a kind of reduction too.
// expected-error @+1 {{expected a reduction kind (sum, mean, min or max), found 'avg'}}
module attributes {bagua.example = #bagua.relation<"g" = avg "g" over [node]>} {}

// -----

// An encoded value has parts and terms, and nothing else.
// expected-error @+1 {{expected 'parts' or 'terms', found 'pieces'}}
module attributes {bagua.example = !bagua.encoded<tensor<8xf32>, #bagua.onebit, pieces [gpu]>} {}

// -----

// A tensor is encoded by a codec.
// expected-error @+1 {{expected a codec, found 5 : i64}}
module attributes {bagua.example = !bagua.encoded<tensor<8xf32>, 5>} {}

// -----

// Codecs take floats.
// expected-error @+1 {{codec #bagua.onebit doesn't support elements of 'i32'}}
module attributes {bagua.example = !bagua.encoded<tensor<8xi32>, #bagua.onebit>} {}

// -----

// A scale belongs to a block of at least one element.
// expected-error @+1 {{expected block of at least 1, found 0}}
module attributes {bagua.example = #bagua.fp8_e4m3<block = 0>} {}

// -----

// QSGD has as many levels as fit into a signed byte.
// expected-error @+1 {{expected levels from 1 to 127, found 128}}
module attributes {bagua.example = #bagua.qsgd<levels = 128, block = 64>} {}

// -----

// QSGD has at least one level.
// expected-error @+1 {{expected levels from 1 to 127, found 0}}
module attributes {bagua.example = #bagua.qsgd<levels = 0, block = 64>} {}

// -----

// QSGD has a norm for blocks of at least one element.
// expected-error @+1 {{expected block of at least 1, found 0}}
module attributes {bagua.example = #bagua.qsgd<levels = 7, block = 0>} {}

// -----

// Top-k sends at least one element.
// expected-error @+1 {{expected count of at least 1, found 0}}
module attributes {bagua.example = #bagua.topk<count = 0>} {}

// -----

// gTop-k sends at least one element.
// expected-error @+1 {{expected count of at least 1, found 0}}
module attributes {bagua.example = #bagua.gtopk<count = 0>} {}

// -----

// DGC sends at least one element.
// expected-error @+1 {{expected count of at least 1, found 0}}
module attributes {bagua.example = #bagua.dgc<count = 0>} {}

// -----

// Random-k sends at least one element.
// expected-error @+1 {{expected count of at least 1, found 0}}
module attributes {bagua.example = #bagua.randomk<count = 0>} {}

// -----

// A contract knows the updates that the runtime can run.
// expected-error @+1 {{expected sgd or adam, found adagrad}}
module attributes {bagua.example = #bagua.update<["w"] by adagrad [] lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// Adam's bias correction is one of three.
// expected-error @+1 {{expected none, moments or step_size, found 'full'}}
module attributes {bagua.example = #bagua.update<["w", "m", "v"] by adam [0.9, 0.999, 1.0e-08, 0.0] full lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// An update has as many constants as its arithmetic.
// expected-error @+1 {{expected beta1, beta2, eps and decay of adam with 3 states and bias correction moments, found 1 constant}}
module attributes {bagua.example = #bagua.update<["w", "m", "v"] by adam [0.9] moments lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// Momentum is the only constant of sgd.
// expected-error @+1 {{expected momentum of sgd with 2 states, found 2 constants}}
module attributes {bagua.example = #bagua.update<["w", "m"] by sgd [0.9, 0.1] lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// There is one state without momentum.
// expected-error @+1 {{expected no constants of sgd with 1 state, found 1 constant}}
module attributes {bagua.example = #bagua.update<["w"] by sgd [0.9] lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// States have names.
// expected-error @+1 {{expected the names of states, found [7 : i32]}}
module attributes {bagua.example = #bagua.update<[7 : i32] by sgd [] lr 0.1 : f32 grad mean "w.grad" over [node]>} {}

// -----

// Learning rates are float32.
// expected-error @+1 {{expected a learning rate of type f32 or the name of an input, found 7 : i32}}
module attributes {bagua.example = #bagua.update<["w"] by sgd [] lr 7 : i32 grad mean "w.grad" over [node]>} {}

// -----

// What is no row of the table is no attribute.
// expected-error @+1 {{unknown attribute `minmax_uint9` in dialect `bagua`}}
module attributes {bagua.example = #bagua.minmax_uint9} {}

// -----

// A cast makes a tensor.
// expected-error @+1 {{expected an encoding that is no cast, found bf16}}
module attributes {bagua.example = #bagua.bf16} {}

// -----

// Parameters have names, ranges, and are there once.
// expected-error @+1 {{expected eps from 0 to 0.001, found 2}}
module attributes {bagua.example = #bagua.minmax_uint8<eps = 2>} {}

// -----

// expected-error @+1 {{expected each parameter of minmax_uint8 once, found 'block'}}
module attributes {bagua.example = #bagua.minmax_uint8<block = 2>} {}

// -----

// expected-error @+1 {{expected block of qsgd, found none}}
module attributes {bagua.example = #bagua.qsgd<levels = 7>} {}
