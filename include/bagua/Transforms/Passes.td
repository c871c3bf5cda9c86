//===- Passes.td - Passes of the bagua compiler ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares every pass with its options and a before/after.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_PASSES_TD
#define BAGUA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyGraphPass : Pass<"bagua-verify-graph", "::mlir::ModuleOp"> {
  let summary = "Proves that every state is yielded with the agreement it declares";
  let description = [{
    The fact analysis of docs/Rationale.md: per value and axis of the cluster,
    replicated, pending, varying, mixed or partial. For gradients this is
    exactly-once reduction: one that is never reduced, reduced twice, over the wrong
    axes or by another kind than `mean` is refused, whatever buckets, parts,
    hierarchy and codecs lie between.

    Then, what the states are made of: the next value of each comes from the state
    itself, updated once, by its own gradient alone; and where `bagua.meaning` says
    what the states are to become, which `bagua-relax` writes, they become
    that. A pass that changes what a step computes on purpose calls `recordMeaning`
    again. Changes nothing.
  }];
}

def PrefetchPass : Pass<"bagua-prefetch", "::bagua::StepOp"> {
  let summary = "Runs a program's own gathers ahead of their use, and what follows its scatters behind";
  let description = [{
    A step that keeps params in parts communicates by itself: it gathers params right
    before they are used, and adds pieces of gradients to its states right after they
    are scattered. Collectives that need states and inputs alone move ahead of their
    use, with what they are computed from, in the order of their first uses; ops that
    follow communication and lead to none come last. All other ops keep their order. How
    many bytes are gathered and not yet used is decided by time: the smallest limit whose
    predicted time is within 1 % of the best. A step that would not become more than 1 %
    faster stays as it is. So do steps of micro-batches, and steps in which a collective
    takes an argument as it is that the step does not change.

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w varies [node] "w" : tensor<2xf32>, param %v varies [node] "v" : tensor<2xf32>) {
      %c = bagua.compute forward "cast"(%w) cost_ns 0 measured : (tensor<2xf32>) -> (tensor<2xf32>)
      %a = bagua.all_gather %c over [node] concat 0 : tensor<2xf32> -> tensor<8xf32>
      %h = bagua.compute forward "dot"(%x, %a) cost_ns 900000 measured : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %d = bagua.compute forward "cast"(%v) cost_ns 0 measured : (tensor<2xf32>) -> (tensor<2xf32>)
      %b = bagua.all_gather %d over [node] concat 0 : tensor<2xf32> -> tensor<8xf32>
      bagua.compute forward "dot"(%h, %b) cost_ns 900000 measured : (tensor<8xf32>, tensor<8xf32>) -> ()
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w varies [node] "w" : tensor<2xf32>, param %v varies [node] "v" : tensor<2xf32>) {
      %c = bagua.compute forward "cast"(%w) cost_ns 0 measured : (tensor<2xf32>) -> (tensor<2xf32>)
      %a = bagua.all_gather %c over [node] concat 0 : tensor<2xf32> -> tensor<8xf32>
      %d = bagua.compute forward "cast"(%v) cost_ns 0 measured : (tensor<2xf32>) -> (tensor<2xf32>)
      %b = bagua.all_gather %d over [node] concat 0 : tensor<2xf32> -> tensor<8xf32>
      %h = bagua.compute forward "dot"(%x, %a) cost_ns 900000 measured : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      bagua.compute forward "dot"(%h, %b) cost_ns 900000 measured : (tensor<8xf32>, tensor<8xf32>) -> ()
    }
    ```
  }];
}

def CoarsenPass : Pass<"bagua-coarsen", "::bagua::StepOp"> {
  let summary = "Merges runs of compute between points where communication can start or must end";
  let description = [{
    Neighbouring compute ops of one phase become one, unless the first makes a
    gradient (or another named result) or something that an op other than compute
    uses, or the second is the first to use a param or a collective's result. Ops
    also stay apart where ranks must agree about the results of one of them, for the
    sake of a state or a gradient, and do not about those of the other.
    Durations, flops and bytes add up; a member without a duration counts as long as
    the roofline of the cluster's device says. The name is that of the costliest
    member.

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %a = bagua.compute forward "dot"(%x, %w) flops 240000000 bytes 9000 : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %b = bagua.compute forward "relu"(%a) bytes 900000 : (tensor<8xf32>) -> (tensor<8xf32>)
      %g = bagua.compute backward "dot"(%b, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      bagua.yield %w : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %b = bagua.compute forward "dot"(%x, %w) flops 240000000 bytes 909000 cost_ns 8000 roofline : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %g = bagua.compute backward "dot"(%b, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      bagua.yield %w : tensor<8xf32>
    }
    ```
  }];
}

def AccumulatePass : Pass<"bagua-accumulate", "::bagua::StepOp"> {
  let summary = "Makes a step of several micro-batches whose gradients are added up";
  let description = [{
    What depends on a batch and on no gradient is repeated `micro-batches` times:
    forward, backward, and collectives between activations. In each, a gradient
    adds to the sum of those before, and so does what is otherwise used once a step
    only (a loss that is reduced); reductions and updates get the last one's. States
    that do not depend on gradients, such as the means of batch normalisation, go
    from one micro-batch to the next. Of values that a micro-batch uses itself, and
    of what collectives make, the rest of the step sees the last one's. Ops carry
    their number as `bagua.micro_batch`, by which bagua-coarsen keeps them apart: the
    step computes `micro-batches` times as long as before, on every device, and adds.

    With `micro-batches=2`

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %a = bagua.compute forward "l"(%x, %w) flops 100 bytes 64 : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %g = bagua.compute backward "l"(%a, %x) flops 200 bytes 96 : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %n = bagua.sgd (%w) grad %g lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %a0 = bagua.compute forward "l"(%x, %w) flops 100 bytes 64 {bagua.micro_batch = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %s = bagua.compute backward "l"(%a0, %x) flops 200 bytes 96 {bagua.micro_batch = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %a = bagua.compute forward "l"(%x, %w) flops 100 bytes 64 {bagua.micro_batch = 1 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %g = bagua.compute backward "l"(%a, %x, %s) flops 200 bytes 128 {bagua.micro_batch = 1 : i64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %n = bagua.sgd (%w) grad %g lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1", "number of micro-batches">,
  ];
}

def FindUnusedPass : Pass<"bagua-find-unused", "::bagua::StepOp"> {
  let summary = "Lets ranks leave out gradients of params that they did not use";
  let description = [{
    For models whose graph differs between ranks and steps (DDP's
    `find_unused_parameters`). Gradients of the params whose names match become
    `optional`: the program may call `markAbsent`, and zeros go into the mean. A
    byte for each of these params, 1 where a rank has used it, in the order in which
    gradients are made, is reduced by `max` over the ranks that share the param (a
    tensor for each set of axes over which params vary). Ops that make the next value
    of such a param, or of a state from its gradient, get the result and become the
    program's: a param that nobody used keeps its value and its moments. It has to
    be known when backward begins.

    With `params=e.*`

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>, param %e "e1" : tensor<8xf32>) {
      %a = bagua.compute forward "l"(%x, %w, %e) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %ge, %gw = bagua.compute backward "l"(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "e1", tensor<8xf32> grad "w")
      %nw = bagua.sgd (%w) grad %gw lr 0.1 : tensor<8xf32>
      %ne = bagua.sgd (%e) grad %ge lr 0.1 : tensor<8xf32>
      bagua.yield %nw, %ne : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>, param %e "e1" : tensor<8xf32>) {
      %a = bagua.compute forward "l"(%x, %w, %e) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
      %u = bagua.compute backward "find unused"(%a, %x) bytes 1 : (tensor<8xf32>, tensor<8xf32>) -> (tensor<1xi8> as "used")
      %r = bagua.all_reduce max %u over [node] : tensor<1xi8>
      %ge, %gw = bagua.compute backward "l"(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> optional grad "e1", tensor<8xf32> grad "w")
      %nw = bagua.sgd (%w) grad %gw lr 0.1 : tensor<8xf32>
      %ne = bagua.compute update "sgd e1"(%e, %ge, %r) bytes 96 : (tensor<8xf32>, tensor<8xf32>, tensor<1xi8>) -> (tensor<8xf32>)
      bagua.yield %nw, %ne : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"params", "params", "std::string", "\".*\"", "regular expression for their names">,
  ];
}

def AnnotateCostsPass : Pass<"bagua-annotate-costs", "::bagua::StepOp"> {
  let summary = "Gives compute ops a duration";
  let description = [{
    `cost_ns` by the roofline of the cluster's device, from `flops` and `bytes`;
    durations that are there stay. With `overlay`, a CSV of `name,phase,ns`, measured
    times replace them: an op takes the time of the line with its name and phase,
    and a line that names no op is an error.

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>) {
      %a = bagua.compute forward "dot"(%x) flops 240000000 bytes 9000 : (tensor<8xf32>) -> (tensor<8xf32>)
      %b = bagua.compute forward "relu"(%a) bytes 900000 : (tensor<8xf32>) -> (tensor<8xf32>)
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>) {
      %a = bagua.compute forward "dot"(%x) flops 240000000 bytes 9000 cost_ns 7000 roofline : (tensor<8xf32>) -> (tensor<8xf32>)
      %b = bagua.compute forward "relu"(%a) bytes 900000 cost_ns 6000 roofline : (tensor<8xf32>) -> (tensor<8xf32>)
    }
    ```
  }];
  let options = [
    Option<"overlay", "overlay", "std::string", "", "CSV of measured times: name,phase,ns">,
  ];
}

def RelaxPass : Pass<"bagua-relax", "::bagua::StepOp"> {
  let summary = "Puts the algorithm's communication on each gradient";
  let description = [{
    `all-reduce`: every gradient that is pending is reduced by a mean over the axes
    over which it is, unless the step reduces it by itself. Arithmetic on a gradient
    before such a reduction becomes the program's. Values that the step itself
    communicates get names, and the step its contract: what must hold of every tensor
    that the runtime gives back, and of states where the runtime updates them. A
    statistic that nothing in forward and backward waits for is given back where it
    was given, as a gradient is.

    A step that runs between iterations (no batch, input and compute) may leave a
    state as it is, scale it by one coefficient, or broadcast it from the first rank.
    Its contract says so, and a step that makes a state in another way is refused.

    A step that has a contract keeps it. It is refused where a gradient is not
    reduced, or the contract is another algorithm's.

    ```
    bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %n = bagua.sgd (%w) grad %g lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>)
        attributes {bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node, gpu]>,
                                      #bagua.update<["w"] by sgd [] lr 0.1 : f32 grad mean "w.grad" over [node, gpu]>]} {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node, gpu] : tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "::bagua::RelaxationChoice", "::bagua::RelaxationChoice()", "algorithm whose communication is written">,
  ];
}

def BucketizePass : Pass<"bagua-bucketize", "::bagua::StepOp"> {
  let summary = "Decides which gradients travel together";
  let description = [{
    Gathers the all_reduces of gradients (and, in buckets of their own, of statistics
    that nothing in forward and backward waits for), in the order in which they are
    predicted to be ready, into buckets: `none` (each alone), `size` (buckets of
    `cap-bytes`), `ddp` (the same with a first bucket of `first-bytes`), `cycle`
    (Horovod: what is ready at a tick of `cycle-ns`, up to `cap-bytes`, once what
    went before is sent), `mg-wfbp` (merges while that is cheaper than another
    start-up, by the cluster's prices), `optimal` (the buckets of neighbours after
    which communication ends first), `list` (as `buckets` says: gradients by class,
    each class by readiness; `3*1` is three alone, `12:rail` twelve together for
    bagua-lower-hierarchy to put on rails, `1/8` one in eight parts,
    `1/8:servers+flat` the same by way of servers and among the ranks in turn; in the
    same words `others` says what becomes of each all_reduce that is in no bucket).
    What is larger than `partition-bytes` is cut into equal parts that travel one
    by one; 0 cuts nothing. `form` says what the all_reduces will be lowered to, for
    prices (see bagua-lower-hierarchy). Only
    gradients of one element type, kind, group and agreement over the other axes
    share a bucket. One that something besides its reduction uses travels alone, as
    does one whose reduction has a name.

    With `policy=ddp`

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %r2 = bagua.all_reduce mean %g2 over [node] : tensor<2xf32>
      %g1 = bagua.compute backward "l1"(%d, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %r1 = bagua.all_reduce mean %g1 over [node] : tensor<3xf32>
      %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : tensor<2xf32>
      %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : tensor<3xf32>
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %g1 = bagua.compute backward "l1"(%d, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %b = bagua.concat %g2, %g1 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
      %c = bagua.all_reduce mean %b over [node] : tensor<5xf32>
      %r2, %r1 = bagua.split %c : tensor<5xf32> -> tensor<2xf32>, tensor<3xf32>
      %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : tensor<2xf32>
      %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : tensor<3xf32>
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "::bagua::BucketPolicy", "::bagua::BucketPolicy::None", "which gradients share a bucket">,
    Option<"firstBytes", "first-bytes", "int64_t", "::bagua::kDdpFirstBytes", "cap of the first bucket (ddp)">,
    Option<"capBytes", "cap-bytes", "int64_t", "::bagua::kDdpCapBytes", "cap of a bucket">,
    Option<"cycleNs", "cycle-ns", "int64_t", "::bagua::kHorovodCycleNs", "time between ticks (cycle)">,
    Option<"partitionBytes", "partition-bytes", "int64_t", "0", "size above which a gradient is cut into parts; 0: no gradient is cut">,
    Option<"form", "form", "::bagua::FormChoice", "::bagua::FormChoice(::bagua::FormKind::Flat)", "form of bagua-lower-hierarchy for which prices are computed">,
    Option<"wire", "wire", "::bagua::Encoding", "::bagua::Encoding()", "type of bagua-cast-wire for which prices are computed">,
    Option<"bucketList", "buckets", "std::string", "\"\"", "each bucket (list), such as 3*1,12:rail,1/8:servers:bf16">,
    Option<"otherList", "others", "std::string", "\"\"", "each all_reduce that is in no bucket (list), in the order of the step; none: flat">,
  ];
}

def CastWirePass : Pass<"bagua-cast-wire", "::bagua::StepOp"> {
  let summary = "Sends gradients in another encoding";
  let description = [{
    Each all_reduce of float32 gradients, alone or in a bucket, goes as `f16` or
    `bf16`: a cast to nearest even before it and one back. The sum itself is in
    float32 and rounded once; with `none`, nothing changes. Lossy: `bagua.meaning` is
    written anew. For an encoding that is no cast (`minmax_uint8`) the all_reduce
    asks for it (`codec`), and bagua-lower-hierarchy or bagua-lower-compression
    writes its collectives. Parameters follow the word:
    `type=minmax_uint8<eps=1e-07>`.

    With `type=bf16`

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node] : tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %c = bagua.cast %g : tensor<8xf32> -> tensor<8xbf16>
      %s = bagua.all_reduce mean %c over [node] : tensor<8xbf16>
      %r = bagua.cast %s : tensor<8xbf16> -> tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"type", "type", "::bagua::Encoding", "::bagua::Encoding()", "encoding in which gradients are sent">,
  ];
}

def DecouplePass : Pass<"bagua-decouple", "::bagua::StepOp"> {
  let summary = "Splits each all_reduce into a reduce_scatter and an all_gather";
  let description = [{
    The two halves of an all_reduce of gradients can be scheduled apart (DeAR, Zhang
    et al., ICDCS 2023): the scatter runs beside backward compute, the gather beside
    the next forward.

    With `update=whole` the gradient is gathered. With `shard` the param is: each
    rank updates the part it has the gradient of, and the optimizer's moments exist
    as parts only (ZeRO-1, Rajbhandari et al., SC 2020), so that they take less
    memory and the update less time. The tensors of a bucket are then laid out so
    that a rank's part of the bucket is its parts of the tensors. A bucket with an
    update that isn't sgd or adam, or with moments that something else uses, is
    gathered as a gradient.

    `form` says whether both halves go over all axes at once (`flat`), axis by axis
    (`multilevel`) or as is `cheapest`.

    With `update=shard`

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node] : tensor<8xf32>
      %n, %o = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n, %o : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>, optimizer %m "m" : tensor<8xf32, #bagua.layout<shard [node]>>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.reduce_scatter mean %g over [node] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [node]>>
      %p = bagua.slice %w : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [node]>>
      %q, %o = bagua.sgd (%p, %m) momentum 0.9 grad %r lr 0.1 : tensor<8xf32, #bagua.layout<shard [node]>>
      %n = bagua.all_gather %q over [node] : tensor<8xf32, #bagua.layout<shard [node]>> -> tensor<8xf32>
      bagua.yield %n, %o : tensor<8xf32>, tensor<8xf32, #bagua.layout<shard [node]>>
    }
    ```
  }];
  let options = [
    Option<"update", "update", "::bagua::UpdatedPart", "::bagua::UpdatedPart::Whole", "whether the gradient is gathered or the param">,
    Option<"form", "form", "::bagua::HalvesChoice", "::bagua::HalvesChoice::Flat", "form of both halves: all axes at once (flat), axis by axis (multilevel) or cheapest">,
  ];
}

def LowerHierarchyPass : Pass<"bagua-lower-hierarchy", "::bagua::StepOp"> {
  let summary = "Replaces all_reduces over several axes by collectives over one axis after the other";
  let description = [{
    For each all_reduce of a whole tensor the cheapest of the forms allowed:
    `leader` (reduce over the inner axes, all_reduce among the roots, broadcast;
    BAGUA), `rail` (reduce_scatter, all_reduce of the parts, all_gather; Horovod's
    hierarchical all_reduce), `multilevel` (reduce_scatter axis by axis, all_gather
    back; BlueConnect), `flat`, or `cheapest` of all these. Further forms are
    `halves` (reduce_scatter and all_gather over all axes; DeAR), `servers` (push to
    all servers, pull) and `rail-servers` (the same of parts; BytePS). An
    all_reduce with an attribute `bagua.form` takes the form that this names. An
    all_reduce of no gradient takes only the hierarchy of the form. A mean becomes a
    mean of means. Of an all_reduce that asks for a codec the all_reduce
    within the form is encoded, as bagua-lower-compression has it: in `rail`, that
    over the outer axes, whose links are slow. An all_reduce of a part of a tensor
    stays as it is, and so does one that no form applies to.

    With `servers=spread` servers sum gradients: the last level of `flat`, `rail` and
    `cheapest` becomes a push to all servers, each of which sums its part, and a pull
    (BytePS); with `balanced` each message is whole on one server, the largest first
    on the server that has least. Parts of tensors are pushed and pulled, too. A
    cluster without servers is refused, and so is a gradient for servers that is not
    reduced over all axes: servers sum what all ranks push.

    With `form=rail`

    ```
    bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node, gpu] : tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %s = bagua.reduce_scatter mean %g over [gpu] : tensor<8xf32> -> tensor<8xf32, #bagua.layout<shard [gpu]>>
      %t = bagua.all_reduce mean %s over [node] : tensor<8xf32, #bagua.layout<shard [gpu]>>
      %r = bagua.all_gather %t over [gpu] : tensor<8xf32, #bagua.layout<shard [gpu]>> -> tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"form", "form", "::bagua::FormChoice", "::bagua::FormChoice::Cheapest", "which forms are allowed">,
    Option<"servers", "servers", "::bagua::ServerUse", "::bagua::ServerUse::None", "whether servers sum gradients, and how they share the sums">,
  ];
}

def LowerCompressionPass : Pass<"bagua-lower-compression", "::bagua::StepOp"> {
  let summary = "Replaces all_reduces that ask for a codec by collectives on encoded parts";
  let description = [{
    Scatter-gather (BAGUA, Gan et al., VLDB 2022): each rank encodes the parts of
    its tensor, an all_to_all gives each owner all terms of its part, and the owner
    decodes and combines them; it encodes the result, an all_gather gives all parts
    to all ranks, and all of them decode, so that all end with the same bits. The
    owner of a part, too, has what is decoded. An all_reduce that asks for feedback,
    or for a codec that the runtime doesn't offer, stays, and so does one whose group
    is a rank alone.

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %r = bagua.all_reduce mean %g over [node] codec (#bagua.minmax_uint8) : tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>) {
      %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32> grad "w")
      %q = bagua.encode %g : (tensor<8xf32>) -> (!bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [node]>)
      %t = bagua.all_to_all %q over [node] : !bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [node]> -> !bagua.encoded<tensor<8xf32, #bagua.layout<shard [node]>>, #bagua.minmax_uint8, terms [node]>
      %m = bagua.decode mean %t : !bagua.encoded<tensor<8xf32, #bagua.layout<shard [node]>>, #bagua.minmax_uint8, terms [node]> -> tensor<8xf32, #bagua.layout<shard [node]>>
      %o = bagua.encode %m : (tensor<8xf32, #bagua.layout<shard [node]>>) -> (!bagua.encoded<tensor<8xf32, #bagua.layout<shard [node]>>, #bagua.minmax_uint8>)
      %p = bagua.all_gather %o over [node] : !bagua.encoded<tensor<8xf32, #bagua.layout<shard [node]>>, #bagua.minmax_uint8> -> !bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [node]>
      %r = bagua.decode %p : !bagua.encoded<tensor<8xf32>, #bagua.minmax_uint8, parts [node]> -> tensor<8xf32>
      %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<8xf32>
      bagua.yield %n : tensor<8xf32>
    }
    ```
  }];
}

def SchedulePass : Pass<"bagua-schedule", "::bagua::StepOp"> {
  let summary = "Gives every op a stream and a place in the launch order";
  let description = [{
    From graph level to scheduled level. Compute keeps its order on stream
    `compute`; updates and whatever else waits for reduced gradients come last, in
    the order in which these arrive. Communication that compute of the same step
    waits for (activations, expert dispatch) is on stream `activation`, at the place
    where it is needed; pulls and what follows them are on `pull`, what leads to a
    push on `push`, so that a link is used both ways; everything else on `comm`, by
    `policy`: `wfbp` as soon as its operands are predicted ready, `bsp` after all
    backward compute, `priority` in the order of a queue that is played against the
    predicted times: the gradients whose parameters the next forward needs first
    overtake the others, while at most `credit-bytes` are in flight, on up to four
    streams; `decoupled` like `wfbp`, but gathers and pulls, and what follows them,
    after all of that, in the order in which the next forward needs them.

    With `updates=program`, arithmetic on whole tensors that only the program uses
    (updates, and what leads to them) becomes compute: the program runs its
    optimizer, and all of it before its next forward. With `late` the same, but what
    can run in the next step, right before the first op that needs it, does:
    `late`, on a stream `late`, behind all else in the block. The arithmetic of a step
    that runs between iterations stays with the runtime. With `runtime` structured
    updates stay, on stream `update`, and the next forward of a layer waits for that
    layer's parameters alone. An update waits for the program's last read of what it
    overwrites. What the runtime can't own is the program's all the same, with a
    remark: an update whose old state something needs beside the new one, or of a
    gradient that the contract promises the program.

    ```
    bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %g1 = bagua.compute backward "l1"(%d, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %r1 = bagua.all_reduce mean %g1 over [node] : tensor<3xf32>
      %n1 = bagua.compute update "sgd w1"(%w1, %r1) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>)
      %r2 = bagua.all_reduce mean %g2 over [node] : tensor<2xf32>
      %n2 = bagua.compute update "sgd w2"(%w2, %r2) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) on compute : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %r2 = bagua.all_reduce mean %g2 over [node] on comm : tensor<2xf32>
      %g1 = bagua.compute backward "l1"(%d, %x) on compute : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %r1 = bagua.all_reduce mean %g1 over [node] on comm : tensor<3xf32>
      %n2 = bagua.compute update "sgd w2"(%w2, %r2) on compute : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
      %n1 = bagua.compute update "sgd w1"(%w1, %r1) on compute : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>)
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "::bagua::SchedulePolicy", "::bagua::SchedulePolicy::Wfbp", "when communication is launched">,
    Option<"creditBytes", "credit-bytes", "int64_t", "0", "bytes that may be in flight at once (priority); 0: one message">,
    Option<"updates", "updates", "::bagua::UpdatesBy", "::bagua::UpdatesBy::Program", "who runs updates of whole tensors">,
  ];
}

def PlacePass : Pass<"bagua-place", "::bagua::StepOp"> {
  let summary = "Gives every value that the runtime touches a place in memory";
  let description = [{
    Buckets lie in an arena; the tensors of a bucket side by side in it, so that
    concat and split cost nothing; collectives work in place. A gradient that
    travels alone stays in the program's own tensor. Where a value is still needed
    after its bytes would be overwritten, it is copied. Values that cross between
    program and runtime without a name get one; a piece of a bucket can't have one,
    and is refused unless it lies where its gradient does. `max-bytes` is a hard
    limit of the arenas' sum; 0 is none.

    ```
    bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) on compute : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %g1 = bagua.compute backward "l1"(%d, %x) on compute : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %b = bagua.concat %g2, %g1 on comm : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
      %c = bagua.all_reduce mean %b over [node] on comm : tensor<5xf32>
      %r2, %r1 = bagua.split %c on comm : tensor<5xf32> -> tensor<2xf32>, tensor<3xf32>
      %n1, %n2 = bagua.compute update "sgd"(%w1, %w2, %r1, %r2) on compute : (tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<2xf32>)
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
    becomes
    ```
    bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : tensor<8xf32>, param %w1 "w1" : tensor<3xf32>, param %w2 "w2" : tensor<2xf32>) {
      %d, %g2 = bagua.compute backward "l2"(%x, %w2) on compute at [program, buckets:0] : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32> grad "w2")
      %g1 = bagua.compute backward "l1"(%d, %x) on compute at [buckets:8] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<3xf32> grad "w1")
      %b = bagua.concat %g2, %g1 on comm at [buckets:0] : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
      %c = bagua.all_reduce mean %b over [node] on comm at [buckets:0] : tensor<5xf32>
      %r2, %r1 = bagua.split %c on comm at [buckets:0, buckets:8] : tensor<5xf32> -> tensor<2xf32>, tensor<3xf32>
      %n1, %n2 = bagua.compute update "sgd"(%w1, %w2, %r1, %r2) on compute at [program, program] : (tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<2xf32>)
      bagua.yield %n1, %n2 : tensor<3xf32>, tensor<2xf32>
    }
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "0", "limit of the runtime's memory on a rank">,
  ];
}

def VerifySchedulePass : Pass<"bagua-verify-schedule", "::bagua::StepOp"> {
  let summary = "Proves that no two accesses to the same bytes race, on two unrolled steps";
  let description = [{
    Every op has a stream and every result a place; every two accesses to
    overlapping bytes, one of them a write, are ordered by dependencies and streams,
    within a step and from one step to the next, and what an op reads is the value
    that it means; an op overlaps itself only in place. Collectives are launched in
    block order, so that no circular wait is possible. Changes nothing.
  }];
}

def AutoPass : Pass<"bagua-auto", "::mlir::ModuleOp"> {
  let summary = "Compiles a step by the plan that is predicted to be fastest";
  let description = [{
    Searches, with the simulator as judge, over what may become of every gradient:
    which share a bucket, into how many parts it is cut, by which collectives each
    part goes, servers included, in which order, and who updates. It starts from the
    published strategies and ends after `evaluations` simulations, or when the lower
    bound is near, so the result doesn't depend on the machine. Never slower than
    the best strategy. What it found is written into the module as a strategy,
    `custom{...}`, which gives the same again. `wire` is what the user allows on the
    wire, `updates` who may run updates (a program that has its own, says `program`),
    `memory` the most bytes that the runtime's arenas may have: the search
    stays within it. The report says what every published strategy would take, and what the
    step would without each kind of decision.
  }];
  let options = [
    Option<"evaluations", "evaluations", "int64_t", "::bagua::kDefaultEvaluations", "limit of simulations">,
    Option<"wire", "wire", "::bagua::Encoding", "::bagua::Encoding()", "as what gradients may be sent, as in bagua-cast-wire">,
    Option<"updates", "updates", "::bagua::AllowedUpdates", "::bagua::AllowedUpdates::Any",
           "who may run updates of whole tensors">,
    Option<"memory", "memory", "int64_t", "0",
           "limit of the runtime's memory, in bytes; 0: none">,
  ];
}

def RecordStrategyPass : Pass<"bagua-record-strategy", "::mlir::ModuleOp"> {
  let summary = "Writes into the module by which strategy it is compiled";
  let description = [{
    Sets `bagua.strategy`, which the plan carries on, so that anyone can run the
    same again. A strategy begins with it.
  }];
  let options = [
    Option<"text", "text", "std::string", "", "NAME{option=value ...}">,
  ];
}

def CompileStepsPass : Pass<"bagua-compile-steps", "::mlir::ModuleOp"> {
  let summary = "Compiles each step of a module by a strategy of its own";
  let description = [{
    `strategies` names each step once: `@warmup=ddp{wire=bf16} @compressed=ddp`.
    Every step is taken to the end of the graph level, then all of them are proved
    together (bagua-verify-graph), then scheduled and placed, and
    bagua-verify-states compares where they keep common states. Each step keeps its
    strategy in `bagua.strategy`. A strategy that searches (`auto`) is refused.
  }];
  let options = [
    Option<"strategies", "strategies", "std::string", "", "@STEP=NAME{option=value ...} for each step, with spaces between">,
  ];
}

def VerifyStatesPass : Pass<"bagua-verify-states", "::mlir::ModuleOp"> {
  let summary = "Checks where and when scheduled steps have the states that they share";
  let description = [{
    A state that lies in an arena in one step must lie at the same byte in every step
    of the module that has values in this arena. Other values of different steps may
    overlap. A state that a step between iterations changes must not be used by late
    compute, which would run behind that step. Changes nothing.
  }];
}

#endif // BAGUA_TRANSFORMS_PASSES_TD
