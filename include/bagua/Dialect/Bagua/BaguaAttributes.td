//===- BaguaAttributes.td - Attributes of the bagua dialect -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes, cluster descriptions, layouts, places, step arguments and results, and
// the enumerations that ops share. Encodings are in BaguaEncodings.td.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_ATTRIBUTES_TD
#define BAGUA_ATTRIBUTES_TD

include "bagua/Dialect/Bagua/BaguaDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Bagua_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Bagua_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Bagua_Enum<string name, string enumSummary, list<I32EnumAttrCase> enumCases>
    : I32EnumAttr<name, enumSummary, enumCases> {
  let cppNamespace = "::bagua";
  let genSpecializedAttr = 0;
}

def Bagua_PhaseKind : Bagua_Enum<"PhaseKind", "part of a step that a compute op belongs to", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"Backward", 1, "backward">,
  I32EnumAttrCase<"Update", 2, "update">,
]>;
def Bagua_PhaseKindAttr : EnumAttr<Bagua_Dialect, Bagua_PhaseKind, "phase_kind">;

def Bagua_CostSource : Bagua_Enum<"CostSource", "where a duration comes from", [
  I32EnumAttrCase<"Measured", 0, "measured">,
  I32EnumAttrCase<"Roofline", 1, "roofline">,
]>;
def Bagua_CostSourceAttr : EnumAttr<Bagua_Dialect, Bagua_CostSource, "cost_source">;

def Bagua_Role : Bagua_Enum<"Role", "what an argument of a step is", [
  I32EnumAttrCase<"Batch", 0, "batch">,
  I32EnumAttrCase<"Input", 1, "input">,
  I32EnumAttrCase<"Param", 2, "param">,
  I32EnumAttrCase<"Optimizer", 3, "optimizer">,
  I32EnumAttrCase<"Buffer", 4, "buffer">,
  I32EnumAttrCase<"Residual", 5, "residual">,
  I32EnumAttrCase<"Replica", 6, "replica">,
]>;

def Bagua_Consistency : Bagua_Enum<"Consistency", "when servers apply pushes: bsp, asp or ssp", [
  I32EnumAttrCase<"Bsp", 0, "bsp">,
  I32EnumAttrCase<"Asp", 1, "asp">,
  I32EnumAttrCase<"Ssp", 2, "ssp">,
]>;
def Bagua_ConsistencyAttr : EnumAttr<Bagua_Dialect, Bagua_Consistency, "consistency">;

def Bagua_ExchangePattern : Bagua_Enum<"ExchangePattern", "who exchanges with whom", [
  I32EnumAttrCase<"Ring", 0, "ring">,
  I32EnumAttrCase<"ShiftOne", 1, "shift_one">,
]>;
def Bagua_ExchangePatternAttr : EnumAttr<Bagua_Dialect, Bagua_ExchangePattern, "exchange_pattern">;

def Bagua_BiasCorrectionAttr : Bagua_Attr<"BiasCorrection", "bias_correction"> {
  let summary = "how an update corrects the bias of its moments: none, moments or step_size";
  let description = [{
    The words are defined in Support (UpdateRules.h), which the runtime shares;
    `bagua.adam` has the formulas.

    ```
    #bagua<bias_correction step_size>
    ```
  }];
  let parameters = (ins "::bagua::BiasCorrection":$value);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::bagua::BiasCorrection";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::bagua::BiasCorrectionAttr::get($_builder.getContext(), $0)";
}

def Bagua_UpdateRuleAttr : Bagua_Attr<"UpdateRule", "update_rule"> {
  let summary = "rule by which an optimizer computes new states";
  let description = [{
    The words are those of the rows in Support (UpdateRules.h).

    ```
    #bagua<update_rule lamb>
    ```
  }];
  let parameters = (ins "::bagua::UpdateRule":$value);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::bagua::UpdateRule";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::bagua::UpdateRuleAttr::get($_builder.getContext(), $0)";
}

def Bagua_ReduceKindAttr : Bagua_Attr<"ReduceKind", "reduce_kind"> {
  let summary = "how a collective combines the ranks' values: sum, mean, min or max";
  let description = [{
    The kinds themselves are defined in Support, which the runtime shares.
    `mean` divides by the group's size after its own sum.

    ```
    #bagua.reduce_kind<mean>
    ```
  }];
  let parameters = (ins "::bagua::ReduceKind":$value);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Axes and clusters
//===----------------------------------------------------------------------===//

def Bagua_AxesAttr : Bagua_Attr<"Axes", "axes"> {
  let summary = "a list of axes of the cluster";
  let description = [{
    A group of ranks: those that share all coordinates outside these axes. In
    cluster order, each axis once. Ops print the list alone.

    ```
    #bagua.axes<[node, gpu]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool contains(::llvm::StringRef axis) const;
    bool empty() const { return getNames().empty(); }
    /// `[node, gpu]`, for messages.
    std::string str() const;
  }];
}

def Bagua_AxisAttr : Bagua_Attr<"Axis", "axis"> {
  let summary = "one axis of a cluster and the links along it";
  let description = [{
    `latency_ns` is of one message, `bytes_per_s` of one direction of one link,
    `sharers` is how many ranks share one link. `overlapped_rate` is the part of
    the rate that is left while the program computes, as on a bus that compute
    uses, too; with `overlapped_ns` only so long from the start of each op, as
    where the program's thread wakes up on cores that carry messages.
    `concurrent_rate` is the part of the rate that messages in flight at once have
    together, as where their threads take turns on few cores. `gap_ns` is what a
    collective takes of each link that it uses besides its bytes, in which, unlike
    its latency, nothing else flows. `links_of`: its links are those of an axis before it, of which
    it was cut for a mesh that tells parts of that axis apart; so are their latency,
    gap, rates and sharers. `table` holds measured times: for a collective's name a
    flat list of pairs, bytes then ns, by ascending bytes.

    ```
    #bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 8>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size, "int64_t":$latency_ns,
                        "int64_t":$bytes_per_s, DefaultValuedParameter<"int64_t", "1">:$sharers,
                        OptionalParameter<"::mlir::FloatAttr">:$overlapped_rate,
                        DefaultValuedParameter<"int64_t", "0">:$overlapped_ns,
                        OptionalParameter<"::mlir::FloatAttr">:$concurrent_rate,
                        DefaultValuedParameter<"int64_t", "0">:$gap_ns,
                        OptionalParameter<"::mlir::StringAttr">:$links_of,
                        OptionalParameter<"::mlir::DictionaryAttr">:$table);
  let assemblyFormat = [{
    `<` $name `,` struct($size, $latency_ns, $bytes_per_s, $sharers, $overlapped_rate, $overlapped_ns,
                         $concurrent_rate, $gap_ns, $links_of, $table) `>`
  }];
  let genVerifyDecl = 1;
}

def Bagua_DeviceAttr : Bagua_Attr<"Device", "device"> {
  let summary = "what one rank computes with";
  let description = [{
    Peak `flop_per_s`, memory `bytes_per_s` and `launch_ns` of one kernel.
    `communication_slowdown` multiplies the time of compute that runs beside a
    collective; `codec_bytes_per_s` is the throughput of encoding.

    ```
    #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
    ```
  }];
  let parameters = (ins "int64_t":$flop_per_s, "int64_t":$bytes_per_s,
                        DefaultValuedParameter<"int64_t", "0">:$launch_ns,
                        DefaultValuedParameter<"int64_t", "0">:$codec_bytes_per_s,
                        OptionalParameter<"::mlir::FloatAttr">:$communication_slowdown);
  let assemblyFormat = [{
    `<` struct($flop_per_s, $bytes_per_s, $launch_ns, $codec_bytes_per_s, $communication_slowdown) `>`
  }];
  let genVerifyDecl = 1;
}

def Bagua_HostAttr : Bagua_Attr<"Host", "host"> {
  let summary = "cores that carry a rank's messages and do the runtime's own work";
  let description = [{
    Measured times, as in an axis's table, by the bytes that the work reads and
    writes: of updates by `sgd`, by that with `momentum` and by `adam`, and of
    `linear`, by which all other work goes, and updates that are missing.

    ```
    #bagua.host<{adam = array<i64: 1024, 900, 1048576, 210000>, linear = array<i64: 1024, 300, 1048576, 90000>}>
    ```
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$times);
  let assemblyFormat = "`<` $times `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Layouts: the parts of tensors that ranks store
//===----------------------------------------------------------------------===//

def Bagua_LayoutAttr : Bagua_Attr<"Layout", "layout"> {
  let summary = "what each rank stores of a logical tensor";
  let description = [{
    A stack of entries in the encoding slot of a tensor type, the outermost
    first; collectives push and pop the last. Without a layout a tensor is whole
    on every rank.

    | entry | who stores what |
    |---|---|
    | `shard [axes]` | each rank of the group its part |
    | `root [axes]` | coordinate 0 of the group everything, the others nothing |
    | `server` | each server its part |
    | `server 3` | server 3 everything |

    Part `r` of `N` elements over `n` ranks is `[min(N, r*c), min(N, (r+1)*c))`
    with `c = ceil(N/n)`, in row-major order.

    ```
    tensor<4096xf32, #bagua.layout<shard [gpu], shard [node]>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::bagua::LayoutEntry">:$entries);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Bagua_PlaceAttr : Bagua_Attr<"Place", "place"> {
  let summary = "where a scheduled value lies";
  let description = [{
    `program` (memory that the runtime never sees), `"l3.weight"` (the memory of
    a named tensor), or `grads:16384` (byte 16384 of the arena `grads`).

    ```
    #bagua.place<program>
    #bagua.place<"l3.weight">
    #bagua.place<grads:16384>
    ```
  }];
  let parameters = (ins "::bagua::PlaceKind":$kind, "::mlir::StringAttr":$name, "int64_t":$offset);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Bagua_ArgumentAttr : Bagua_Attr<"Argument", "argument"> {
  let summary = "role, name, axes of disagreement, count and place of a step's argument";
  let description = [{
    One attribute has all that a step prints before and behind an argument.
    `counted "count"` marks a moment: the program's own update is corrected by
    state `count`, which therefore has to be the number of the moment's updates.
    The runtime counts these itself.

    ```
    #bagua.argument<param "l1.weight" varies [gpu] at weights:4096>
    #bagua.argument<optimizer "l1.weight.m" counted "count">
    #bagua.argument<batch "x">
    ```
  }];
  let parameters = (ins "::bagua::Role":$role, "::mlir::StringAttr":$name,
                        "::bagua::AxesAttr":$varies, "::mlir::StringAttr":$counted, "::bagua::PlaceAttr":$place);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// State is yielded; `batch` and `input` are bound anew each step.
    bool isState() const { return getRole() != Role::Batch && getRole() != Role::Input; }
    /// The same argument in another place.
    ::bagua::ArgumentAttr at(::bagua::PlaceAttr place) const {
      return get(getContext(), getRole(), getName(), getVaries(), getCounted(), place);
    }
  }];
}

def Bagua_ResultAttr : Bagua_Attr<"Result", "result"> {
  let summary = "what a result of a compute op is to the runtime";
  let description = [{
    `grad "w"` makes the result the gradient of param `w`, named `w.grad`; `as
    "used"` names it otherwise; `optional` lets the program leave it out.

    ```
    #bagua.result<optional grad "w">
    #bagua.result<as "used">
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$grad, "::mlir::StringAttr":$as, "bool":$optional);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Bagua_RelationKind : Bagua_Enum<"RelationKind", "how a tensor given back follows from what was given", [
  I32EnumAttrCase<"Reduced", 0, "reduced">,
  I32EnumAttrCase<"AllToAll", 1, "all_to_all">,
  I32EnumAttrCase<"Scattered", 3, "scattered">, // 2 is an update's, in plans
  I32EnumAttrCase<"Gathered", 4, "all_gather">,
  I32EnumAttrCase<"Permuted", 5, "permute">,
  I32EnumAttrCase<"Scaled", 6, "scaled">,
  I32EnumAttrCase<"Broadcast", 7, "broadcast">,
]>;

def Bagua_RelationAttr : Bagua_Attr<"Relation", "relation"> {
  let summary = "what must hold of a tensor that the runtime gives back";
  let description = [{
    One entry of a step's contract (`bagua.contract`): `tensor` is the reduction of
    kind `kind`, a piece of it along `split`, or the all_to_all, all_gather or
    permute, of what the ranks of a group over the axes gave as `of`. A step that runs between iterations makes states:
    `scaled` by a coefficient, or `broadcast` from the first rank of the group. Written when a step is imported or
    relaxed and by no later pass, so that a check by it finds what a pass has lost.

    ```
    #bagua.relation<"l3.weight.grad" = mean "l3.weight.grad" over [node, gpu]>
    #bagua.relation<"out" = all_to_all "in" over [tp] split 0 concat 1>
    #bagua.relation<"piece" = sum "whole" over [gpu] split 0>
    #bagua.relation<"whole" = all_gather "piece" over [gpu] concat 0>
    #bagua.relation<"next" = permute "out" over [gpu] pairs [0 -> 1]>
    #bagua.relation<"l3.momentum" = scaled "l3.momentum" by 0.5>
    #bagua.relation<"l3.weight" = broadcast "l3.weight" over [node, gpu]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$tensor, "::mlir::StringAttr":$of,
                        "::bagua::RelationKind":$relation, "::bagua::ReduceKind":$kind,
                        "::bagua::AxesAttr":$over, "int64_t":$split, "int64_t":$concat,
                        "::mlir::DenseI64ArrayAttr":$pairs, OptionalParameter<"::mlir::FloatAttr">:$coefficient);
  let builders = [
    AttrBuilder<(ins "::mlir::StringAttr":$tensor, "::mlir::StringAttr":$of, "::bagua::RelationKind":$relation,
                     "::bagua::ReduceKind":$kind, "::bagua::AxesAttr":$over, "int64_t":$split, "int64_t":$concat,
                     "::mlir::DenseI64ArrayAttr":$pairs), [{
      return $_get($_ctxt, tensor, of, relation, kind, over, split, concat, pairs, ::mlir::FloatAttr());
    }]>,
    // A change of a state: `scaled`, which has a coefficient and no axes, or
    // `broadcast`, which has axes.
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$state, "::bagua::RelationKind":$relation,
                                        "::bagua::AxesAttr":$over, "::mlir::FloatAttr":$coefficient), [{
      return $_get(state.getContext(), state, state, relation, ::bagua::ReduceKind::Sum, over, 0, 0,
                   ::mlir::DenseI64ArrayAttr::get(state.getContext(), {}), coefficient);
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
}

def Bagua_UpdateAttr : Bagua_Attr<"Update", "update"> {
  let summary = "what must hold of states that the runtime updates";
  let description = [{
    One entry of a step's contract (`bagua.contract`): after each step the states
    are what an optimizer (Support/UpdateRules.h) makes of them and of the reduction
    of what the ranks of a group gave as `of`. The constants are sgd's momentum, if
    any, adam's betas, eps and decay, or as `bagua.update` says; the learning rate is
    a value or the name of an `input`. Of no meaning where the program updates the states itself.

    ```
    #bagua.update<["w", "m"] by sgd [0.9] lr 0.1 : f32 grad mean "w.grad" over [node, gpu]>
    #bagua.update<["w", "m", "v"] by adam [0.9, 0.999, 1.0e-08, 0.0] moments lr "lr" grad mean "w.grad" over [node, gpu]>
    ```
  }];
  let parameters = (ins "::mlir::ArrayAttr":$states, "::bagua::UpdateRule":$rule,
                        "::mlir::DenseF32ArrayAttr":$constants, "::bagua::BiasCorrection":$bias_correction,
                        "::mlir::Attribute":$lr, "::mlir::StringAttr":$of, "::bagua::ReduceKind":$kind,
                        "::bagua::AxesAttr":$over);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // BAGUA_ATTRIBUTES_TD
