#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A JAX training step as a graph: export_step.py FILE.py[:FUNCTION] OUT.mlir [--devices=N]

FUNCTION (`step`) of FILE.py returns a step and its arguments, which may be jax.ShapeDtypeStructs: nothing is run. The
step is a function that was given to jax.jit (with shard_map inside, or with shardings, from which XLA's partitioner
makes the communication), jax.pmap or jax.shard_map; its params and its optimizer's state should be donated
(donate_argnums), by which the importer tells state from data. Written is

    bagua-translate --import-stablehlo OUT.mlir

in the form that reads: one module, all ops in the generic form, with locations, which have the names. With --devices
that many virtual CPU devices stand for the real ones. Needs JAX 0.4.35 or later.
"""
import argparse
import importlib.util
import os
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


def main():
    parser = argparse.ArgumentParser(prog="export_step", description=__doc__.splitlines()[0])
    parser.add_argument("step", metavar="FILE.py[:FUNCTION]")
    parser.add_argument("out", metavar="OUT.mlir")
    parser.add_argument("--devices", type=int)
    given = parser.parse_args()
    if given.devices:  # before JAX is imported
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={given.devices}"
    made = load(given.step)()
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[0]):
        sys.exit(f"export_step: expected a step and its arguments from {given.step}, found {type(made).__name__}")
    text, hints = text_of(*made)
    with open(given.out, "w", encoding="utf-8") as file:
        file.write(text)
    for hint in hints:
        print(f"export_step: {hint}", file=sys.stderr)


if __name__ == "__main__":
    main()
