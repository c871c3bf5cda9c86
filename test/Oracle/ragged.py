# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ragged_all_to_all for XLA on CPUs, which has none: gathers of everything, of which each device takes its own.

What it sends and where it goes are numbers that devices compute, as lax.ragged_all_to_all says: device s sends
`send_sizes[r]` rows from `input_offsets[r]` on to device r, where they begin at `output_offsets[r]`, as s has them.
"""
import sys

TARGET = "ragged_all_to_all"

FUNCTION = """
func.func private @{name}(%x: {operand}, %out: {result}, %from: tensor<{n}xi32>, %size: tensor<{n}xi32>, %to: tensor<{n}xi32>, %unused: tensor<{n}xi32>) -> {result} {{
  %whole = "stablehlo.reshape"(%x) : ({operand}) -> tensor<1x{rows}x{columns}x{kind}>
  %xs = "stablehlo.all_gather"(%whole) <{{all_gather_dim = 0 : i64, {groups}}}> : (tensor<1x{rows}x{columns}x{kind}>) -> tensor<{n}x{rows}x{columns}x{kind}>
  %numbers = "stablehlo.concatenate"(%from, %size, %to) <{{dimension = 0 : i64}}> : (tensor<{n}xi32>, tensor<{n}xi32>, tensor<{n}xi32>) -> tensor<{n3}xi32>
  %column = "stablehlo.reshape"(%numbers) : (tensor<{n3}xi32>) -> tensor<1x3x{n}xi32>
  %table = "stablehlo.all_gather"(%column) <{{all_gather_dim = 0 : i64, {groups}}}> : (tensor<1x3x{n}xi32>) -> tensor<{n}x3x{n}xi32>
  %place = "{place}"() : () -> tensor<ui32>
  %me = "stablehlo.convert"(%place) : (tensor<ui32>) -> tensor<i32>
  %zero = "stablehlo.constant"() <{{value = dense<0> : tensor<i32>}}> : () -> tensor<i32>
  %own = "stablehlo.dynamic_slice"(%table, %zero, %zero, %me) <{{slice_sizes = array<i64: {n}, 3, 1>}}> : (tensor<{n}x3x{n}xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<{n}x3x1xi32>
  %row = "stablehlo.iota"() <{{iota_dimension = 0 : i64}}> : () -> tensor<{out}xi32>
  %all = "stablehlo.iota"() <{{iota_dimension = 1 : i64}}> : () -> tensor<{out}x{rows}xi32>
  %none = "stablehlo.constant"() <{{value = dense<0> : tensor<{out}xi32>}}> : () -> tensor<{out}xi32>
  %result0 = "stablehlo.reshape"(%out) : ({result}) -> {result}
{parts}
  func.return %result{n} : {result}
}}
"""

# What device {s} sends.
PART = """
  %f{s}s = "stablehlo.slice"(%own) <{{start_indices = array<i64: {s}, 0, 0>, limit_indices = array<i64: {next}, 1, 1>, strides = array<i64: 1, 1, 1>}}> : (tensor<{n}x3x1xi32>) -> tensor<1x1x1xi32>
  %s{s}s = "stablehlo.slice"(%own) <{{start_indices = array<i64: {s}, 1, 0>, limit_indices = array<i64: {next}, 2, 1>, strides = array<i64: 1, 1, 1>}}> : (tensor<{n}x3x1xi32>) -> tensor<1x1x1xi32>
  %t{s}s = "stablehlo.slice"(%own) <{{start_indices = array<i64: {s}, 2, 0>, limit_indices = array<i64: {next}, 3, 1>, strides = array<i64: 1, 1, 1>}}> : (tensor<{n}x3x1xi32>) -> tensor<1x1x1xi32>
  %f{s}r = "stablehlo.reshape"(%f{s}s) : (tensor<1x1x1xi32>) -> tensor<i32>
  %s{s}r = "stablehlo.reshape"(%s{s}s) : (tensor<1x1x1xi32>) -> tensor<i32>
  %t{s}r = "stablehlo.reshape"(%t{s}s) : (tensor<1x1x1xi32>) -> tensor<i32>
  %f{s} = "stablehlo.broadcast_in_dim"(%f{s}r) <{{broadcast_dimensions = array<i64>}}> : (tensor<i32>) -> tensor<{out}xi32>
  %s{s} = "stablehlo.broadcast_in_dim"(%s{s}r) <{{broadcast_dimensions = array<i64>}}> : (tensor<i32>) -> tensor<{out}xi32>
  %t{s} = "stablehlo.broadcast_in_dim"(%t{s}r) <{{broadcast_dimensions = array<i64>}}> : (tensor<i32>) -> tensor<{out}xi32>
  %i{s} = "stablehlo.subtract"(%row, %t{s}) : (tensor<{out}xi32>, tensor<{out}xi32>) -> tensor<{out}xi32>
  %a{s} = "stablehlo.compare"(%i{s}, %none) <{{comparison_direction = #stablehlo<comparison_direction GE>}}> : (tensor<{out}xi32>, tensor<{out}xi32>) -> tensor<{out}xi1>
  %b{s} = "stablehlo.compare"(%i{s}, %s{s}) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : (tensor<{out}xi32>, tensor<{out}xi32>) -> tensor<{out}xi1>
  %g{s} = "stablehlo.and"(%a{s}, %b{s}) : (tensor<{out}xi1>, tensor<{out}xi1>) -> tensor<{out}xi1>
  %j{s} = "stablehlo.add"(%i{s}, %f{s}) : (tensor<{out}xi32>, tensor<{out}xi32>) -> tensor<{out}xi32>
  %k{s} = "stablehlo.broadcast_in_dim"(%j{s}) <{{broadcast_dimensions = array<i64: 0>}}> : (tensor<{out}xi32>) -> tensor<{out}x{rows}xi32>
  %e{s} = "stablehlo.compare"(%all, %k{s}) <{{comparison_direction = #stablehlo<comparison_direction EQ>}}> : (tensor<{out}x{rows}xi32>, tensor<{out}x{rows}xi32>) -> tensor<{out}x{rows}xi1>
  %h{s} = "stablehlo.convert"(%e{s}) : (tensor<{out}x{rows}xi1>) -> tensor<{out}x{rows}x{kind}>
  %x{s}s = "stablehlo.slice"(%xs) <{{start_indices = array<i64: {s}, 0, 0>, limit_indices = array<i64: {next}, {rows}, {columns}>, strides = array<i64: 1, 1, 1>}}> : (tensor<{n}x{rows}x{columns}x{kind}>) -> tensor<1x{rows}x{columns}x{kind}>
  %x{s} = "stablehlo.reshape"(%x{s}s) : (tensor<1x{rows}x{columns}x{kind}>) -> {operand}
  %p{s} = "stablehlo.dot_general"(%h{s}, %x{s}) <{{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}}> : (tensor<{out}x{rows}x{kind}>, {operand}) -> {result}
  %m{s} = "stablehlo.broadcast_in_dim"(%g{s}) <{{broadcast_dimensions = array<i64: 0>}}> : (tensor<{out}xi1>) -> tensor<{out}x{columns}xi1>
  %result{next} = "stablehlo.select"(%m{s}, %p{s}, %result{s}) : (tensor<{out}x{columns}xi1>, {result}, {result}) -> {result}
"""


def function_for(call, name, devices, partitions, ir):
    operand, result = (ir.RankedTensorType(value.type) for value in (call.operands[0], call.results[0]))
    if operand.rank != 2:
        sys.exit(f"expected {TARGET} of matrices, found {operand}")
    groups = f"replica_groups = dense<[{list(range(devices))}]> : tensor<1x{devices}xi64>"
    if partitions > 1:
        groups += ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"
    facts = {"name": name, "operand": operand, "result": result, "rows": operand.shape[0], "columns": operand.shape[1],
             "out": result.shape[0], "kind": operand.element_type, "n": devices, "n3": 3 * devices, "groups": groups,
             "place": "stablehlo.partition_id" if partitions > 1 else "stablehlo.replica_id"}
    facts["parts"] = "".join(PART.format(s=device, next=device + 1, **facts) for device in range(devices))
    return FUNCTION.format(**facts)


def write_out(module, replicas, partitions, ir):
    """Puts functions in the place of the module's calls, which are over all devices."""
    calls = []

    def collect(op):
        if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == TARGET:
            calls.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(collect)
    for index, call in enumerate(calls):
        name = f"{TARGET}_{index}"
        text = function_for(call, name, replicas * partitions, partitions, ir)
        library = ir.Module.parse(text)
        library.body.operations[0].operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
        written = ir.Operation.create(
            "func.call", results=[result.type for result in call.results], operands=list(call.operands),
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)}, ip=ir.InsertionPoint(call), loc=ir.Location.unknown())
        call.results[0].replace_all_uses_with(written.results[0])
        call.erase()
