#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""same_numbers.py ORIGINAL WRITTEN... [--arguments=FILE] [--steps=K] [--ulps=U] [--seed=S]: whether modules of one step compute the same under XLA.

Runs them on virtual CPU devices, as many as they ask for, from the same arguments, and compares every output on every
device with the original's: bit by bit, or within U units in the last place of the largest number of the output. XLA
compiles for processors without fused multiply-add: what it fuses, which communication decides, would round otherwise.

Arguments are drawn, or those of an .npz file: for each the whole array, of which a device gets its part.

With K steps what a step yields are the arguments of the next one: an output goes with the argument that the exporter
says it aliases, else with the donated argument of its tree path. Prints a line for each module; exits with 1 where outputs differ.
Needs JAX, 0.4.35 or later.
"""
import argparse
import os
import re
import sys

import ragged


def device_counts(text):
    """Replicas and partitions."""
    return [int(re.search(rf"mhlo\.num_{kind} = (\d+)", text).group(1)) for kind in ("replicas", "partitions")]


def prepare(devices):
    """Before JAX is imported."""
    os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={devices} --xla_cpu_enable_fast_math=false "
                               "--xla_disable_hlo_passes=cpu-all-reduce-combiner,all-reduce-reassociate --xla_cpu_max_isa=AVX")
    os.environ["JAX_PLATFORMS"] = "cpu"


class Module:
    """A compiled module and its signature."""

    def __init__(self, path):
        import jax
        import jax.extend.backend
        import numpy
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jax._src.lib.mlir import ir
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "lapack_" in text:
            from jaxlib import lapack
            lapack._lapack.initialize()  # else a call of it ends the process
        self.replicas, self.partitions = device_counts(text)
        self.devices = jax.extend.backend.get_backend("cpu").local_devices()[:self.replicas * self.partitions]
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            if ragged.TARGET in text:
                ragged.write_out(module, self.replicas, self.partitions, ir)
            self.arguments = read_arguments(module, ir)
            self.results = read_results(module)
            code = mlir.module_to_bytecode(module)
        options = xla_client.CompileOptions()
        build = options.executable_build_options
        for target in (options, build):
            target.num_replicas, target.num_partitions = self.replicas, self.partitions
        build.use_spmd_partitioning = self.partitions > 1
        if "sdy." in text:
            build.use_shardy_partitioner = True
        options.device_assignment = xla_client.DeviceAssignment.create(
            numpy.arange(len(self.devices)).reshape(self.replicas, self.partitions))
        backend = jax.extend.backend.get_backend("cpu")
        if hasattr(backend, "compile_and_load"):
            self.executable = backend.compile_and_load(code, xla_client.DeviceList(tuple(self.devices)), options)
        else:
            self.executable = backend.compile(code, compile_options=options)

    def run(self, arguments):
        """arguments: for each an array a device or, where devices are partitions, a global one. Returns each output
        on each device."""
        import jax
        import numpy
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        placed = []
        shardings = self.executable.get_parameter_shardings() if self.partitions > 1 else None
        for index, argument in enumerate(arguments):
            sharding = sharding_of(self.devices, shardings, index) if self.partitions > 1 else None
            if sharding and isinstance(argument, list):  # the last step's output
                parts = [jax.device_put(part, device) for part, device in zip(argument, self.devices)]
                placed.append(jax.make_array_from_single_device_arrays(self.arguments[index][1], sharding, parts))
            elif sharding:
                placed.append(jax.device_put(argument, sharding))
            elif jax.__version_info__ < (0, 5):
                placed.append([jax.device_put(part, device) for part, device in zip(argument, self.devices)])
            else:
                parts = [jax.device_put(part, device) for part, device in zip(argument, self.devices)]
                shape = argument[0].shape
                mesh = Mesh(numpy.array(self.devices), "devices")
                spec = PartitionSpec("devices") if shape else PartitionSpec()
                whole = (len(parts) * shape[0], *shape[1:]) if shape else ()
                placed.append(jax.make_array_from_single_device_arrays(whole, NamedSharding(mesh, spec), parts))
        results = self.executable.execute_sharded(placed).disassemble_into_single_device_arrays()
        return [[numpy.asarray(part) for part in result] for result in results]


def sharding_of(devices, shardings, index):
    from jax._src.sharding_impls import GSPMDSharding
    return GSPMDSharding(devices, shardings[index]) if shardings else GSPMDSharding.get_replicated(devices)


def main_function(module):
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.attributes["sym_name"].value == "main":
            return op
    sys.exit("expected a function @main, found none")


def read_arguments(module, ir):
    """Of each argument the path, shape, element type, whether all devices have the same, and the output it aliases."""
    function = main_function(module)
    block = function.regions[0].blocks[0]
    attributes = list(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else [{}] * len(block.arguments)
    # The bindings have no locations of arguments; the text does.
    text = function.operation.get_asm(enable_debug_info=True, use_local_scope=True, print_generic_op_form=True,
                                      large_elements_limit=4)
    header = text[text.index("^bb0("):]
    header = header[:header.index("\n")]
    paths = re.findall(r'%arg\d+: [^ ]* loc\((?:"([^"]*)")?', header)
    arguments = []
    for argument, given, path in zip(block.arguments, attributes, paths, strict=True):
        alias = given["tf.aliasing_output"].value if "tf.aliasing_output" in given else None
        donated = alias is not None or "jax.buffer_donor" in given
        same = "mhlo.is_same_data_across_replicas" in given
        kind = ir.RankedTensorType(argument.type)
        arguments.append((path, tuple(kind.shape), str(kind.element_type), same, donated, alias))
    return arguments


def read_results(module):
    """Of each result the path."""
    function = main_function(module)
    if "res_attrs" not in function.attributes:
        return [""] * len(function.regions[0].blocks[0].operations[-1].operands)
    return [given["jax.result_info"].value if "jax.result_info" in given else ""
            for given in function.attributes["res_attrs"]]


def draw(module, seed):
    """Arguments: what all devices are declared to have alike is drawn once, all else by each, state too: that a program
    starts with copies is not in its text. State is small, optimizer state not negative either."""
    import numpy
    drawn = []
    for index, (path, shape, kind, same, donated, _) in enumerate(module.arguments):
        random = numpy.random.default_rng([seed, index])
        def one():
            if kind.startswith(("i", "ui")):
                values = random.integers(0, 2, shape)
            else:
                values = random.normal(size=shape) * (0.05 if donated else 1)
                values = abs(values) if "opt" in path or "nu" in path else values
            return numpy.asarray(values).astype(element_type(kind))
        if module.partitions > 1:
            drawn.append(one())
        else:
            first = one()
            drawn.append([first if same else one() for _ in module.devices])
    return drawn


def element_type(kind):
    import jax.numpy
    import numpy
    names = {"f32": "float32", "f64": "float64", "f16": "float16", "i1": "bool", "i8": "int8", "i16": "int16",
             "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64"}
    return jax.numpy.bfloat16 if kind == "bf16" else numpy.dtype(names[kind])


def next_arguments(module):
    """For each argument the output that is its next value; None for batch and inputs."""
    components = lambda path: re.findall(r"\['?([^\]']*)'?\]|\.(\w+)", path)
    outputs = {}
    for index, path in enumerate(module.results):
        outputs.setdefault(tuple(components(path)[1:]), []).append(index)
    found = []
    for path, _, _, _, donated, alias in module.arguments:
        candidates = outputs.get(tuple(components(path)), []) if donated else []
        found.append(alias if len(candidates) != 1 else candidates[0])
    return found


def difference(original, written):
    """The largest, in units in the last place of the largest number; 0 where all bits agree."""
    import numpy
    if original.tobytes() == written.tobytes():
        return 0.0
    if original.dtype.kind not in "fV" and original.dtype.name != "bfloat16":
        return float("inf")
    wide = [array.astype(numpy.float64) for array in (original, written)]
    if not all(numpy.isfinite(array).all() for array in wide):
        return float("inf")
    bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[original.dtype.name]
    largest = max(abs(wide[0]).max(), 1e-30)
    return float(abs(wide[0] - wide[1]).max() / largest * 2.0 ** (bits - 1))


def load(module, path):
    """Arguments from a file. A replica has its row of what is not the same everywhere."""
    import numpy
    loaded = []
    with numpy.load(path) as file:
        for index, (_, shape, kind, _, _, _) in enumerate(module.arguments):
            whole = file[str(index)]
            if whole.dtype.kind == "V":  # what numpy makes of types that it does not know
                whole = whole.view(element_type(kind))
            if module.partitions > 1:
                loaded.append(whole)
            elif whole.shape == shape:
                loaded.append([whole] * len(module.devices))
            else:
                loaded.append([part.reshape(shape) for part in whole])
    return loaded


def compare(original, written, arguments, steps):
    """The largest difference of each output."""
    states, worst = [list(arguments) for _ in range(2)], [0.0] * len(original.results)
    pairs = next_arguments(original)
    for _ in range(steps):
        outputs = [module.run(state) for module, state in zip((original, written), states)]
        for index, (left, right) in enumerate(zip(*outputs, strict=True)):
            worst[index] = max(worst[index], *(difference(a, b) for a, b in zip(left, right, strict=True)))
        for state, results in zip(states, outputs):
            for index, output in enumerate(pairs):
                if output is not None:
                    state[index] = results[output]
    return worst


def is_finite(outputs):
    import numpy
    return all(numpy.isfinite(part.astype(numpy.float64)).all() for output in outputs for part in output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("original")
    parser.add_argument("written", nargs="+")
    parser.add_argument("--arguments")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--ulps", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with open(given.original, encoding="utf-8") as file:
        replicas, partitions = device_counts(file.read())
    prepare(replicas * partitions)
    original = Module(given.original)
    arguments = load(original, given.arguments) if given.arguments else draw(original, given.seed)
    # Nobody can tell one number that is none from another.
    if not is_finite(original.run(arguments)):
        sys.exit("expected finite numbers of the original, found others: --arguments gives it better ones")
    failed = False
    for path in given.written:
        worst = compare(original, Module(path), arguments, given.steps)
        differing = [index for index, value in enumerate(worst) if value > given.ulps]
        failed |= bool(differing)
        print(f"{os.path.basename(path)}: {len(worst)} outputs on {replicas * partitions} devices, {given.steps} steps: "
              f"{len(differing)} differ, the most by {max(worst):.3g} units in the last place")
        for index in differing[:10]:
            print(f"  output {index} {original.results[index]}: {worst[index]:.3g}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
