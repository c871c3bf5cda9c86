#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A JAX training step as a graph: export_step.py FILE.py[:FUNCTION] OUT.mlir [--devices=N] [--unroll]

FUNCTION (`step`) of FILE.py returns a step and its arguments, which may be jax.ShapeDtypeStructs: nothing is run. The
step is a function that was given to jax.jit (with shard_map inside, or with shardings, from which XLA's partitioner
makes the communication), jax.pmap or jax.shard_map; its params and its optimizer's state should be donated
(donate_argnums), by which the importer tells state from data. Written is

    bagua-translate --import-stablehlo OUT.mlir

in the form that reads: one module, all ops in the generic form, with locations, which have the names. With --devices
that many virtual CPU devices stand for the real ones. With --unroll each jax.lax.scan is written out, as the importer
does with loops that communicate, and as it has to be in a program that runs the plan. Needs JAX 0.4.35 or later; 0.12
is the newest that was tried.
"""
import argparse
import importlib.util
import math
import os
import re
import sys


def load(place):
    path, _, function = place.partition(":")
    if not os.path.isfile(path):
        sys.exit(f"export_step: expected a file, found no '{path}'")
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    if not hasattr(module, function or "step"):
        sys.exit(f"export_step: expected a function '{function or 'step'}' in {path}, found none")
    return getattr(module, function or "step")


def unroll_scans():
    """Makes jax.lax.scan write out its turns, for code that is loaded from now on."""
    import functools
    import jax
    scan = jax.lax.scan

    @functools.wraps(scan)
    def unrolled(f, init, xs=None, length=None, reverse=False, **options):
        return scan(f, init, xs, length, reverse, **{**options, "unroll": True})
    jax.lax.scan = unrolled


def text_of(step, arguments):
    """The step as StableHLO, and what should be known about it."""
    import jax
    from bagua.jax import partitioner
    jax.config.update("jax_include_full_tracebacks_in_locations", False)
    function = step if hasattr(step, "lower") else jax.jit(step)
    lowered = function.lower(*arguments)
    module = lowered.compiler_ir("stablehlo")
    if partitioner.is_annotated(module):
        module = partitioner.partitioned(lowered)
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
    hints = []
    if "jax.buffer_donor" not in text and "tf.aliasing_output" not in text:
        hints.append("no argument is donated: state is told by names alone; donate_argnums says what it is")
    return text, hints


def described(text, arguments):
    """What was exported, for the user."""
    import jax
    import numpy
    name = re.search(r'sym_name = "([^"]*)"', text).group(1)
    devices = math.prod(int(count) for count in re.findall(r"mhlo\.num_(?:partitions|replicas) = (\d+)", text))
    leaves = jax.tree.leaves(arguments)
    size = sum(math.prod(leaf.shape) * numpy.dtype(leaf.dtype).itemsize for leaf in leaves if hasattr(leaf, "shape") and not
               jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))
    return f"step '{name}' for {devices} device{'s' if devices != 1 else ''}, with {len(leaves)} arguments of {size / 1e6:.6g} MB"


def main():
    parser = argparse.ArgumentParser(prog="export_step", description=__doc__.splitlines()[0])
    parser.add_argument("step", metavar="FILE.py[:FUNCTION]")
    parser.add_argument("out", metavar="OUT.mlir")
    parser.add_argument("--devices", type=int)
    parser.add_argument("--unroll", action="store_true")
    given = parser.parse_args()
    if given.devices:  # before JAX is imported
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={given.devices}"
    if given.unroll:
        unroll_scans()
    made = load(given.step)()
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[0]):
        sys.exit(f"export_step: expected a step and its arguments from {given.step}, found {type(made).__name__}")
    text, hints = text_of(*made)
    with open(given.out, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{given.out}: {described(text, made[1])}\nnext: bagua-translate --import-stablehlo {given.out} --summary")
    for hint in hints:
        print(f"export_step: {hint}", file=sys.stderr)


if __name__ == "__main__":
    main()
