# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps whose communication XLA inserts: shardings annotate whole arrays, and collectives appear only when XLA's partitioner
has made a program for the parts of one device. The step is rewritten so that it calls this program in the way in which a
step with jax.shard_map calls the body that a user wrote."""
from __future__ import annotations

import math
import os
import re
import sys
import tempfile
import typing

import jax
import numpy
from jaxlib import xla_client
from jaxlib.mlir import ir

# By channel: the devices of each group, an array of numpy's, which stubs do not know to be a buffer.
Groups = dict[str, typing.Any]
# Of the compiler's own, which stubs do not know.
_XLA: typing.Any = xla_client


def is_annotated(module: ir.Module) -> bool:
    """Whether communication is left to XLA's partitioner. It is not if the module has one partition, or exactly one body
    written for a device, as with shard_map around a whole step."""
    text = str(module)
    bodies = text.count("sdy.manual_computation") or text.count("func.func private @shmap_body")
    return "mhlo.num_partitions = 1 " not in text and bodies != 1


def partitioned(lowered: jax.stages.Lowered) -> ir.Module:
    """The step in the form in which shard_map writes it: a function on one device's parts of all arguments, called between
    conversions of whole arrays to parts and of parts to whole arrays."""
    original: typing.Any = lowered.compiler_ir("stablehlo")
    with original.context, ir.Location.unknown():
        whole = ir.Module.parse(original.operation.get_asm(enable_debug_info=True))
        computation = dumped(lowered)
        part = ir.Module.parse(_XLA._xla.mlir.xla_computation_to_mlir_module(computation))
        function = function_of(part, "main")
        functions, groups = called_from(function, part), groups_by_channel(computation.as_hlo_text())
        for each in functions:
            make_readable(each, groups)
            unpack_tuples(each)
        returned = unpack_results(function)
        inner = [in_order(tiled(layout)) for layout in parameter_layouts(function, part)]
        outer = [in_order(tiled(layout)) for layout in
                 layouts_in(ir.StringAttr(part.operation.attributes["mhlo.spmd_output_sharding"]).value)]
        main = function_of(whole, "main")
        kinds = [value.type for value in list(entry(main).operations)[-1].operands]
        empty(whole, main)
        lay_out(main, "arg_attrs", inner)
        lay_out(main, "res_attrs", outer)
        with ir.InsertionPoint(entry(main)):
            given = [converted("SPMDFullToShardShape", value, layout, "{manual}", own.type)
                     for value, own, layout in zip(entry(main).arguments, entry(function).arguments, inner, strict=True)]
            call = ir.Operation.create("func.call", [value.type for value in returned], given,
                                       {"callee": ir.FlatSymbolRefAttr.get("partitioned")})
            ir.Operation.create("func.return", operands=[
                converted("SPMDShardToFullShape", value, "{manual}", layout, kind)
                for value, kind, layout in zip(call.results, kinds, outer, strict=True)])
        function.attributes["sym_name"] = ir.StringAttr.get("partitioned")
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for each in functions:
            whole.body.append(each)
        whole.operation.verify()
        return whole


def dumped(lowered: jax.stages.Lowered) -> typing.Any:
    """The step after XLA's partitioner."""
    with tempfile.TemporaryDirectory() as directory:
        lowered.compile({"xla_dump_to": directory, "xla_dump_hlo_pass_re": "^spmd-partitioning$",
                         "xla_dump_hlo_as_proto": True})
        files = [name for name in os.listdir(directory) if ".after_spmd-partitioning" in name and name.endswith(".pb")]
        if len(files) != 1:
            sys.exit(f"expected one module after XLA's partitioner, found {len(files)}")
        with open(f"{directory}/{files[0]}", "rb") as file:
            code = file.read()
    # An HloProto, whose first field is the module: its tag, its length by seven bits a byte, itself.
    length = 0
    for at, byte in enumerate(code[1:]):
        length |= (byte & 127) << (7 * at)
        if byte < 128:
            break
    return _XLA.XlaComputation(code[at + 2:at + 2 + length])


def function_of(module: ir.Module, name: str) -> ir.Operation:
    return next(op.operation for op in module.body.operations if ir.StringAttr(op.operation.attributes["sym_name"]).value == name)


def called_from(function: ir.Operation, module: ir.Module) -> list[ir.Operation]:
    """The function and all functions that it calls, directly or not."""
    found = [function]
    for each in found:
        for operation in walked(each):
            if operation.name == "func.call":
                callee = function_of(module, ir.FlatSymbolRefAttr(operation.attributes["callee"]).value)
                found += [callee] if callee not in found else []
    return found


def entry(function: ir.Operation) -> ir.Block:
    return function.regions[0].blocks[0]


def walked(operation: ir.Operation) -> typing.Iterator[ir.Operation]:
    """All operations inside the operation, then the operation itself."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walked(inner.operation)
    yield operation


def make_readable(function: ir.Operation, groups: Groups) -> None:
    """Rewrites groups that name axes of a mesh as lists of devices, and marks a device's own number as manual sharding."""
    for operation in walked(function):
        attributes = operation.attributes
        # The conversion to StableHLO leaves out in which order a mesh has its devices.
        if "replica_groups" in attributes and "mesh_axes" in str(attributes["replica_groups"]):
            channel = re.search(r"handle = (\d+)", str(attributes["channel_handle"]) if "channel_handle" in attributes else "")
            if not channel or channel.group(1) not in groups:
                sys.exit(f"expected groups of whole axes of a mesh, found {attributes['replica_groups']}")
            attributes["replica_groups"] = ir.DenseElementsAttr.get(groups[channel.group(1)])
        if operation.name == "stablehlo.partition_id":
            attributes["mhlo.sharding"] = ir.StringAttr.get("{manual}")


def numbers_of(listed: str) -> list[int]:
    return [int(number) for number in listed.split(",")]


def groups_by_channel(text: str) -> Groups:
    """The devices of each group, for channels whose groups the HLO's text gives as axes of a mesh:
    mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}."""
    said = re.compile(r"channel_id=(\d+), replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))?"
                      r" \{((?:'[^']*',? ?)+)\}")
    found: Groups = {}
    for channel, mesh, dims, order, axes in said.findall(text):
        sizes = {name: int(size) for name, size in re.findall(r"'([^']*)'=(\d+)", mesh)}
        devices: typing.Any = numpy.arange(math.prod(sizes.values()), dtype=numpy.int64)
        if dims:
            devices = devices.reshape(numbers_of(dims))
        if order:
            devices = devices.transpose(numbers_of(order))
        along = [list(sizes).index(name) for name in re.findall(r"'([^']*)'", axes)]
        devices = numpy.moveaxis(devices.reshape(tuple(sizes.values())), along, range(-len(along), 0))
        count = math.prod(sizes[name] for name in re.findall(r"'([^']*)'", axes))
        found[channel] = numpy.ascontiguousarray(devices.reshape(-1, count))
    return found


def parameter_layouts(function: ir.Operation, module: ir.Module) -> list[str]:
    """The layouts of the function's arguments, which newer partitioners write to the module."""
    if "arg_attrs" in function.attributes:
        return [ir.StringAttr(ir.DictAttr(attributes)["mhlo.sharding"]).value for attributes in ir.ArrayAttr(function.attributes["arg_attrs"])]
    return [ir.StringAttr(layout).value for layout in ir.ArrayAttr(module.operation.attributes["mhlo.spmd_parameters_shardings"])]


def layouts_in(text: str) -> list[str]:
    """The layouts of {{replicated}, {mesh['a'=2], [{'a'}, {}]}}, or the one that the text is."""
    text = re.sub(r"/\*.*?\*/", "", text)
    if not text.startswith("{{"):
        return [text]
    found, depth = [""], 0
    for letter in text[1:-1]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [layout.strip() for layout in found]


def tiled(layout: str) -> str:
    """A layout that names the axes of a mesh, as one of tiles: {mesh['a'=2,'b'=4], [{'b'}, {}]} is
    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}. Others stay as they are."""
    named = re.fullmatch(r"\{mesh\[([^\]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))?, (.*)\}", layout)
    if not named:
        return layout
    mesh, dims, order, cut = named.groups()
    sizes = {name: int(size) for name, size in re.findall(r"'([^']*)'=(\d+)", mesh)}
    if cut == "replicated":
        return "{replicated}"
    if not re.fullmatch(r"\[(?:\{(?:'[^']*'(?:, ?)?)*\}(?:, ?)?)*\](?:, replicated=\{[^{}]*\})?", cut):
        sys.exit(f"expected a layout by whole axes of a mesh, found {layout}")
    names = list(sizes)
    by_dimension = [re.findall(r"'([^']*)'", axes) for axes in re.findall(r"\{([^{}]*)\}", cut.split("]", maxsplit=1)[0])]
    cutting = [name for axes in by_dimension for name in axes]
    rest = [name for name in names if name not in cutting]
    # Devices in the mesh's order are an array of the sizes `along`, transposed.
    along, turned = list(sizes.values()), list(range(len(sizes)))
    if dims:
        along, turned = numbers_of(dims), numbers_of(order) if order else list(range(len(numbers_of(dims))))
        if [along[at] for at in turned] != list(sizes.values()):
            sys.exit(f"expected a mesh whose axes are those of the device list, found {layout}")
    if not cutting:
        return "{replicated}"
    left = math.prod(sizes[name] for name in rest)
    tile = [math.prod(sizes[name] for name in axes) for axes in by_dimension] + ([left] if left > 1 else [])
    places = [turned[names.index(name)] for name in cutting + rest]
    is_sorted = places == list(range(len(places)))
    return (f"{{devices=[{','.join(map(str, tile))}]<=[{','.join(map(str, along))}]"
            f"{'' if is_sorted else 'T(' + ','.join(map(str, places)) + ')'}{' last_tile_dim_replicate' if left > 1 else ''}}}")


def in_order(layout: str) -> str:
    """The layout with a list of all devices, in row-major or column-major order, in its short form. Older partitioners write the
    list out."""
    listed = re.search(r"\](\d+(?:,\d+)*)", layout)
    if not listed:
        return layout
    devices = numbers_of(listed.group(1))
    count = len(devices)
    for rows in range(1, count):
        columns = count // rows
        if rows * columns == count and devices == numpy.arange(count).reshape(rows, columns).T.reshape(-1).tolist():
            order = f"<=[{count}]" if rows == 1 else f"<=[{rows},{columns}]T(1,0)"
            return layout.replace(listed.group(0), f"]{order}")
    return layout


def is_tuple(value: ir.Value[typing.Any]) -> bool:
    return str(value.type).startswith("tuple")


def unpack_tuples(function: ir.Operation) -> None:
    """Replaces custom calls that return one tuple by calls with several results."""
    calls = [operation for operation in walked(function)
             if operation.name == "stablehlo.custom_call" and is_tuple(operation.results[0])]
    for operation in calls:
        kind, given = ir.TupleType(operation.results[0].type), operation.attributes
        with ir.InsertionPoint(operation):
            call = ir.Operation.create(
                operation.name, [kind.get_type(index) for index in range(kind.num_types)], list(operation.operands),
                {given[index].name: given[index].attr for index in range(len(given))}, loc=operation.location)
        for use in list(operation.results[0].uses):
            use.owner.results[0].replace_all_uses_with(call.results[use.owner.attributes["index"].value])
            use.owner.operation.erase()
        operation.erase()


def unpack_results(function: ir.Operation) -> list[ir.Value[typing.Any]]:
    """The values that the function returns. A returned tuple is replaced by its elements."""
    last = list(entry(function).operations)[-1]
    returned = list(last.operands)
    if len(returned) != 1 or not is_tuple(returned[0]):
        return returned
    pack: typing.Any = returned[0].owner
    returned = list(pack.operands)
    with ir.InsertionPoint(last):
        ir.Operation.create("func.return", operands=returned)
    last.operation.erase()
    pack.erase()
    kind = ir.FunctionType.get([value.type for value in entry(function).arguments], [value.type for value in returned])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return returned


def empty(module: ir.Module, main: ir.Operation) -> None:
    """Removes everything from the module except the signature of `main`."""
    for operation in [op for op in module.body.operations if op.operation != main] + list(entry(main).operations)[::-1]:
        operation.operation.erase()


def lay_out(main: ir.Operation, kind: str, layouts: list[str]) -> None:
    """Sets the shardings of arguments or results (`kind`) on the devices, replacing those that name a mesh."""
    def laid_out(given: ir.DictAttr, layout: str) -> ir.DictAttr:
        named = [given[index] for index in range(len(given))]
        return ir.DictAttr.get({each.name: each.attr for each in named if "sharding" not in each.name}
                               | {"mhlo.sharding": ir.StringAttr.get(layout)})

    main.attributes[kind] = ir.ArrayAttr.get([laid_out(ir.DictAttr(attributes), layout) for attributes, layout in
                                              zip(ir.ArrayAttr(main.attributes[kind]), layouts, strict=True)])


def converted(target: str, value: ir.Value[typing.Any], layout: str, result_layout: str, kind: ir.Type) -> ir.Value[typing.Any]:
    """The value after the conversion `target`, in the form in which jax.shard_map writes it."""
    for name, said, result in (("Sharding", layout, value.type), (target, result_layout, kind)):
        value = ir.Operation.create("stablehlo.custom_call", [result], [value], {
            "call_target_name": ir.StringAttr.get(name), "mhlo.sharding": ir.StringAttr.get(said)}).results[0]
    return value
