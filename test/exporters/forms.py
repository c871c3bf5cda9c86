# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a step: pmap, stacked pmap, shard_map with and without Shardy, shardings alone, and for one device."""
import dataclasses
import inspect
import math
import os
import sys

import jax
import jax.numpy as jnp
import numpy
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from bagua.jax import partitioner  # noqa: E402

VERSION = jax.__version_info__


@dataclasses.dataclass(frozen=True)
class Comm:
    """What one rank says to the others. `checked`: values say over which axes they vary, so that a gradient of what
    does not vary arrives summed."""

    axes: tuple
    sizes: tuple
    checked: bool = False

    @property
    def size(self):
        return math.prod(self.sizes)

    def over(self, axis):
        return dataclasses.replace(self, axes=(axis,), sizes=(self.sizes[self.axes.index(axis)],))

    def is_summed(self, leaf):
        return self.checked and not set(self.axes) & set(jax.typeof(leaf).manual_axis_type.varying)

    def mean(self, tree):
        if not self.axes:
            return tree
        return jax.tree.map(lambda x: x / self.size if self.is_summed(x) else lax.pmean(x, self.axes), tree)

    def sum(self, tree):
        if not self.axes:
            return tree
        return jax.tree.map(lambda x: x if self.is_summed(x) else lax.psum(x, self.axes), tree)

    def largest(self, x):
        return lax.pmax(x, self.axes) if self.axes else x

    def index(self):
        return lax.axis_index(self.axes) if self.axes else 0

    def varying(self, tree):
        if not self.checked:
            return tree
        return jax.tree.map(lambda x: lax.pcast(x, self.axes, to="varying"), tree)

    def all_to_all(self, x, split, concat):
        return lax.all_to_all(x, self.axes, split, concat, tiled=True)

    def gather(self, x, dimension=0):
        return lax.all_gather(x, self.axes, axis=dimension, tiled=True)

    def scatter(self, x):
        return lax.psum_scatter(x, self.axes, tiled=True)

    def shift(self, x):
        return lax.ppermute(x, self.axes, [(i, (i + 1) % self.size) for i in range(self.size)])


def named(function, names):
    """With these names of arguments, which exporters write down."""
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    function.__name__ = "step"
    return function


def program_of(step, comm):
    """The step of one rank as a function of named arguments in the construct's order, and these names."""
    usual = (*step.states, "batch", *step.inputs)
    names = step.arguments or usual

    def program(*arguments):
        given = dict(zip(names, arguments))
        *states, loss = step.run(comm, *(given[name] for name in usual))
        results = dict(zip(step.states, states), loss=loss)
        return tuple(results[name] for name in step.results or (*step.states, "loss"))

    return named(program, names), names


def values_of(step, grow):
    """Arguments by name; `grow` makes the whole batch of one rank's."""
    return {**step.states, "batch": jax.tree.map(grow, step.batch), **step.inputs}


def several(count):
    """Another batch for each rank, told apart by a roll of its elements."""
    def grow(leaf):
        leaf = numpy.asarray(leaf)
        return numpy.stack([numpy.roll(leaf.reshape(-1), index).reshape(leaf.shape) for index in range(count)])
    return grow


def donated(step, names):
    return tuple(index for index, name in enumerate(names) if step.donated and name in step.states)


def lower_single(step, ranks):
    program, names = program_of(step, Comm((), ()))
    values = values_of(step, lambda leaf: leaf)
    return jax.jit(program, donate_argnums=donated(step, names)), [values[name] for name in names]


def lower_pmap(step, ranks):
    program, names = program_of(step, Comm(("data",), (ranks,)))
    values = values_of(step, several(ranks))
    axes = tuple(0 if name == "batch" else None for name in names)
    function = jax.pmap(program, "data", in_axes=axes, out_axes=None, donate_argnums=donated(step, names))
    return function, [values[name] for name in names]


def own_copies(ranks):
    """A copy for each rank, no two alike. Numbers become smaller by a hundredth at most, zeros become as small, and
    integers count from the rank; truths stay."""
    def copy(leaf, rank):
        if not rank or leaf.dtype.kind == "b":
            return leaf
        if leaf.dtype.kind in "iu":
            return (leaf + rank).astype(leaf.dtype)
        part = numpy.random.default_rng(rank).uniform(0, 0.01, leaf.shape)
        return numpy.where(leaf == 0, part, leaf * (1 - part)).astype(leaf.dtype)

    return lambda leaf: numpy.stack([copy(numpy.asarray(leaf), rank) for rank in range(ranks)])


def lower_stacked(step, ranks):
    program, names = program_of(step, Comm(("data",), (ranks,)))
    values = values_of(step, several(ranks))
    same = lambda leaf: numpy.stack([numpy.asarray(leaf)] * ranks)
    arguments = [values[name] if name == "batch" else
                 jax.tree.map(same if name in step.alike else own_copies(ranks), values[name]) for name in names]
    return jax.pmap(program, "data", donate_argnums=donated(step, names)), arguments


def lower_sharded(step, ranks, checked):
    mesh = step.mesh or {"data": ranks}
    devices = numpy.array(jax.devices()[:math.prod(mesh.values())]).reshape(tuple(mesh.values()))
    data = tuple(axis for axis in mesh if axis not in ("model", "stage"))
    program, names = program_of(step, Comm(tuple(mesh), tuple(mesh.values()), checked))
    count = math.prod(mesh[axis] for axis in data)
    together = lambda leaf: several(count)(leaf).reshape(-1, *leaf.shape[1:])
    values = values_of(step, together)
    specs = {"batch": P(data), "loss": P(), **{name: P() for name in (*step.states, *step.inputs)}, **step.specs}
    ins = tuple(specs[name] for name in names)
    outs = tuple(specs[name] for name in step.results or (*step.states, "loss"))
    if hasattr(jax, "shard_map"):
        mapped = jax.shard_map(program, mesh=Mesh(devices, tuple(mesh)), in_specs=ins, out_specs=outs,
                               check_vma=checked)
    else:
        from jax.experimental.shard_map import shard_map
        mapped = shard_map(program, Mesh(devices, tuple(mesh)), ins, outs, check_rep=False)
    return (jax.jit(named(lambda *arguments: mapped(*arguments), names), donate_argnums=donated(step, names)),
            [values[name] for name in names])


def lower_annotated(step, ranks):
    """Whole arrays, of which each device has its part of the batch and of every state that can be cut."""
    mesh = Mesh(numpy.array(jax.devices()[:ranks]), ("data",))
    program, names = program_of(step, Comm((), ()))
    values = values_of(step, lambda leaf: several(ranks)(leaf).reshape(-1, *leaf.shape[1:]))

    def part(leaf):
        cut = next((axis for axis, size in enumerate(jnp.shape(leaf)) if size % ranks == 0), None)
        return NamedSharding(mesh, P() if cut is None else P(*[None] * cut, "data"))

    places = {name: jax.tree.map(part, value) for name, value in step.states.items()}
    places |= {"batch": NamedSharding(mesh, P("data")), "loss": NamedSharding(mesh, P())}
    places |= {name: places["loss"] for name in step.inputs}
    results = step.results or (*step.states, "loss")
    return (jax.jit(program, donate_argnums=donated(step, names), in_shardings=tuple(places[name] for name in names),
                    out_shardings=tuple(places[name] for name in results)), [values[name] for name in names])


FORMS = {
    "single": lower_single,
    "pmap": lower_pmap,
    "stacked": lower_stacked,
    "shard_map": lambda step, ranks: lower_sharded(step, ranks, False),
    "shardy": lambda step, ranks: lower_sharded(step, ranks, False),
    "shard_map_checked": lambda step, ranks: lower_sharded(step, ranks, True),
    "shardy_checked": lambda step, ranks: lower_sharded(step, ranks, True),
    "annotated": lower_annotated,
}


def exists(form):
    """Whether this version has the form."""
    return "checked" not in form or hasattr(jax, "typeof")


def export(step, form, ranks):
    """The text, its arguments as the program gets them, and of these what the text kept."""
    newer = hasattr(jax, "typeof")
    jax.config.update("jax_use_shardy_partitioner", form.startswith("shardy") or (form == "annotated" and newer))
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    function, arguments = FORMS[form](step, ranks)
    lowered = function.lower(*arguments)
    module = partitioner.partitioned(lowered) if form == "annotated" else lowered.compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
    flat = jax.tree.leaves(arguments)
    kept = lowered._lowering.compile_args.get("kept_var_idx")
    return text, arguments, [numpy.asarray(leaf) for index, leaf in enumerate(flat) if kept is None or index in kept]
