# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch training step as a graph: python -m bagua.torch.export FILE.py[:FUNCTION] OUT

FUNCTION (`step`) of FILE.py returns a model, a loss, an optimizer of torch.optim, and a batch, by which shapes are
known: `loss(model, *batch)` is a scalar. Written are OUT.mlir and OUT.json, for

    bagua-translate --import-stablehlo OUT.mlir --mapping=OUT.json [--cluster=C]

The step is that of one rank: forward, backward, and the optimizer's arithmetic on gradients. Where ranks' gradients
are to be averaged is between the last two, as DistributedDataParallel has it. Names are those of
`model.named_parameters()` and `model.named_buffers()`, of an optimizer's state `exp_avg.fc1.weight`. A learning rate
that is a tensor is an input `lr`, of the second group of params `lr.1`.

Nothing of the model runs or changes; a copy of its params makes one step to see what state the optimizer has. Needs
torch 2.15 and torch-mlir; no shared library of Bagua's.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import inspect
import json
import os
import sys
import typing

import torch
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._functorch.compile_utils import fx_graph_cse
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree
from torch_mlir import ir
from torch_mlir.compiler_utils import OutputType, lower_mlir_module, run_pipeline_with_repro_report
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_decomp_util import get_decomposition_table
from torch_mlir.extras.fx_importer import FxImporter

Loss = typing.Callable[..., torch.Tensor]
Tensors = dict[str, torch.Tensor]
# By param and name: the optimizer's state. By group and name: what a schedule writes into a tensor.
State = dict[tuple[str, str], torch.Tensor]
Rates = dict[tuple[int, str], torch.Tensor]

# Loops over single tensors: what a compiler is to see; and arithmetic on tensors alone, the count of steps included.
PLAIN = {"foreach": False, "fused": False, "capturable": True}


class ExportError(Exception):
    """What can't be exported, and why."""


@dataclasses.dataclass
class Step:
    """An exported step: its text, and what its arguments and results are."""

    text: str
    mapping: dict[str, list[dict[str, object]]]

    def write(self, path: str) -> None:
        with open(f"{path}.mlir", "w", encoding="utf-8") as file:
            file.write(self.text)
        with open(f"{path}.json", "w", encoding="utf-8") as file:
            json.dump(self.mapping, file, indent=1)


class WithLoss(torch.nn.Module):
    """A model and its loss as one module."""

    def __init__(self, model: torch.nn.Module, loss: Loss) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *batch: typing.Any) -> torch.Tensor:
        value = self.loss(self.model, *batch)
        if not isinstance(value, torch.Tensor) or value.dim():
            raise ExportError(f"expected a loss that is a scalar, found {getattr(value, 'shape', value)}")
        return value


def name_of(target: str) -> str:
    return target.removeprefix("model.")


def optimizer_of(optimizer: torch.optim.Optimizer, params: typing.Iterable[tuple[torch.Tensor, torch.Tensor]],
                 rates: Rates) -> torch.optim.Optimizer:
    """An optimizer of the same kind for other params, which stand where the model's stood, and with other rates."""
    at = {id(param): new for param, new in params}
    groups = []
    for index, group in enumerate(optimizer.param_groups):
        own = {key: PLAIN.get(key, rates.get((index, key), value)) for key, value in group.items() if key != "params"}
        groups.append({**own, "params": [at[id(param)] for param in group["params"] if id(param) in at]})
    kind: typing.Callable[..., torch.optim.Optimizer] = type(optimizer)
    known = inspect.signature(type(optimizer).__init__).parameters
    defaults = {key: PLAIN.get(key, value) for key, value in optimizer.defaults.items()
                if key in known and not isinstance(value, torch.Tensor)}
    return kind([group for group in groups if group["params"]], **defaults)


@contextlib.contextmanager
def compiling() -> typing.Iterator[None]:
    """Optimizers that are `capturable` ask for a GPU, or for this."""
    compiler: typing.Any = torch.compiler
    before, compiler._is_compiling_flag = compiler._is_compiling_flag, True
    try:
        yield
    finally:
        compiler._is_compiling_flag = before


class Exporter:
    def __init__(self, model: torch.nn.Module, loss: Loss, optimizer: torch.optim.Optimizer, batch: typing.Sequence[typing.Any]) -> None:
        self.optimizer, self.batch = optimizer, tuple(batch)
        self.params = {name: param for name, param in model.named_parameters() if param.requires_grad}
        self.module = WithLoss(model, loss)
        trained = {id(param) for group in optimizer.param_groups for param in group["params"]}
        self.updated = [name for name, param in self.params.items() if id(param) in trained]
        # What a schedule writes into a tensor is an input of the step; a number is the step's own.
        self.rates: Rates = {(index, key): value.detach() for index, group in enumerate(optimizer.param_groups)
                             for key, value in group.items() if isinstance(value, torch.Tensor)}
        if not self.updated:
            raise ExportError("expected an optimizer of the model's params, found none of them in it")

    def run(self) -> Step:
        with contextlib.ExitStack() as stack:
            self.joint = aot_export_joint_with_descriptors(stack, self.module, self.batch)
        self.read_descriptors()
        self.find_state()
        return Step(text_of(self.trace()), self.mapping())

    def read_descriptors(self) -> None:
        """What the graph of forward and backward takes and gives, by names."""
        graph = self.joint.graph_module.graph
        self.inputs = [node.meta["desc"] for node in graph.nodes if node.op == "placeholder"]
        output = next(node for node in graph.nodes if node.op == "output")
        self.outputs = output.meta["desc"]
        kinds = {type(desc).__name__ for desc in self.inputs}
        unknown = kinds - {"ParamAOTInput", "BufferAOTInput", "PlainAOTInput", "TangentAOTInput"}
        if unknown:
            raise ExportError(f"expected params, buffers and a batch as inputs, found {sorted(unknown)}")
        self.buffers = [desc.target for desc in self.inputs if type(desc).__name__ == "BufferAOTInput"]
        named = dict(self.module.named_parameters())
        # What the optimizer doesn't have is frozen: an input that stays.
        self.frozen = [desc.target for desc in self.inputs if type(desc).__name__ == "ParamAOTInput"
                       and name_of(desc.target) not in self.updated]
        self.values = {**named, **dict(self.module.named_buffers())}
        graph.set_codegen(torch.fx.graph.CodeGen())
        self.joint.graph_module.recompile()

    def find_state(self) -> None:
        """The optimizer's state after a step: of each param its tensors."""
        copies = {name: self.params[name].detach().clone().requires_grad_() for name in self.updated}
        probe = optimizer_of(self.optimizer, [(self.params[name], copies[name]) for name in self.updated], self.rates)
        for copy in copies.values():
            copy.grad = torch.zeros_like(copy)
        with compiling():
            probe.step()
        self.state: State = {(name, key): value.detach() for name, copy in copies.items()
                             for key, value in probe.state[copy].items() if isinstance(value, torch.Tensor)}

    def step(self, params: Tensors, state: State, buffers: Tensors, frozen: Tensors, rates: Rates,
             batch: list[typing.Any]) -> tuple[Tensors, State, Tensors, torch.Tensor | None, list[torch.Tensor]]:
        """A rank's step: new params, state and buffers, the loss, and gradients."""
        given = {f"model.{name}": value for name, value in params.items()} | buffers | frozen
        arguments = [torch.ones(()) if type(desc).__name__ == "TangentAOTInput" else
                     batch[desc.idx] if type(desc).__name__ == "PlainAOTInput" else given[desc.target]
                     for desc in self.inputs]
        grads: Tensors = {}
        after, loss = dict(buffers), None
        for value, desc in zip(self.joint.graph_module(*arguments), self.outputs):
            kind = type(desc).__name__
            if kind == "GradAOTOutput" and value is not None and type(desc.grad_of).__name__ == "ParamAOTInput":
                grads[name_of(desc.grad_of.target)] = value
            elif kind == "InputMutationAOTOutput":
                after[desc.mutated_input.target] = value
            elif kind == "PlainAOTOutput":
                loss = value
        new, after_state = self.update(params, state, rates, grads)
        self.reached = [name for name in self.updated if name in grads]
        return new, after_state, after, loss, [grads[name] for name in self.reached]

    def update(self, params: Tensors, state: State, rates: Rates, grads: Tensors) -> tuple[Tensors, State]:
        """The optimizer's own code on copies."""
        new = {name: value.detach().clone() for name, value in params.items()}
        optimizer = optimizer_of(self.optimizer, [(self.params[name], value) for name, value in new.items()], rates)
        kept = {place: value.clone() for place, value in state.items()}
        for (name, key), value in kept.items():
            optimizer.state[new[name]][key] = value
        for name, value in new.items():
            value.grad = grads.get(name)
        with torch.no_grad():
            optimizer.step()
        return new, {(name, key): optimizer.state[new[name]][key] for name, key in kept}

    def trace(self) -> torch.fx.GraphModule:
        params = {name: self.params[name].detach() for name in self.updated}
        given = (params, self.state, {name: self.values[name].detach() for name in self.buffers},
                 {name: self.values[name].detach() for name in self.frozen}, self.rates, list(self.batch))
        with compiling():
            def step(*given: typing.Any) -> object:
                return self.step(*given)

            graph = make_fx(step, tracing_mode="fake")(*given)
            for node in reversed(list(graph.graph.nodes)):  # torch.optim's profiler marks
                if node.op == "call_function" and "profiler" in str(node.target) and not node.users:
                    graph.graph.erase_node(node)
            graph.recompile()
            graph = make_fx(torch.func.functionalize(graph, remove="mutations"), tracing_mode="fake",
                            decomposition_table=get_decomposition_table())(*given)
        spell_out_alpha(graph.graph)
        graph = torch.fx.GraphModule(graph, fx_graph_cse(graph.graph))
        graph.graph.eliminate_dead_code()
        output = next(node for node in graph.graph.nodes if node.op == "output")
        output.args = (tuple(pytree.tree_leaves(output.args[0])),)
        graph.graph.set_codegen(torch.fx.graph.CodeGen())
        graph.recompile()
        return graph

    def mapping(self) -> dict[str, list[dict[str, object]]]:
        """What arguments and results are, by position."""
        states = [(name, "param") for name in self.updated]
        states += [(f"{key}.{name}", "optimizer") for name, key in self.state]
        states += [(name_of(name), "buffer") for name in self.buffers]
        inputs = [(name_of(name), "input") for name in self.frozen]
        inputs += [(key if index == 0 else f"{key}.{index}", "input") for index, key in self.rates]
        inputs += [(f"batch.{index}", "batch") for index in range(len(self.batch))]
        return {
            "states": [{"argument": index, "result": index, "name": name, "role": role}
                       for index, (name, role) in enumerate(states)],
            "inputs": [{"argument": len(states) + index, "name": name, "role": role}
                       for index, (name, role) in enumerate(inputs)],
            # After the loss.
            "gradients": [{"param": name, "result": len(states) + 1 + index}
                          for index, name in enumerate(self.reached)]}


def spell_out_alpha(graph: torch.fx.Graph) -> None:
    """a + alpha * b as a product and a sum where alpha is an element of a tensor, a rate: as a number it would leave StableHLO."""
    aten = torch.ops.aten
    for node in graph.nodes:
        alpha = node.kwargs.get("alpha")
        if node.target is not aten.add.Tensor or getattr(alpha, "target", None) is not aten._local_scalar_dense.default:
            continue
        with graph.inserting_before(node):
            product = graph.call_function(aten.mul.Tensor, (node.args[1], alpha.args[0]))
        product.meta = dict(node.args[1].meta)
        node.args, node.kwargs = (node.args[0], product), {}
        if not alpha.users:
            graph.erase_node(alpha)


def text_of(graph: torch.fx.GraphModule) -> str:
    """StableHLO in the generic form."""
    context = ir.Context()
    torch_dialect.register_dialect(context)
    importer = FxImporter(context=context)
    importer.import_stateless_graph(graph.graph, func_name="main")
    module = importer.module
    run_pipeline_with_repro_report(module, "builtin.module(torchdynamo-export-to-torch-backend-pipeline)",
                                   "decomposing what torch traced")
    lower_mlir_module(False, OutputType.STABLEHLO, module)
    return module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)


def export_step(model: torch.nn.Module, loss: Loss, optimizer: torch.optim.Optimizer, batch: typing.Sequence[typing.Any]) -> Step:
    """The Step of a model, a loss(model, *batch), an optimizer of torch.optim, and a batch, by its shapes."""
    return Exporter(model, loss, optimizer, batch).run()


def load(place: str) -> typing.Callable[[], tuple[typing.Any, ...]]:
    path, _, function = place.partition(":")
    if not os.path.isfile(path):
        raise ExportError(f"expected a file, found no '{path}'")
    spec = importlib.util.spec_from_file_location("exported", path)
    if spec is None or spec.loader is None:
        raise ExportError(f"expected a Python file (.py), found '{path}'")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, function or "step"):
        raise ExportError(f"expected a function '{function or 'step'}' in {path}, found none")
    return getattr(module, function or "step")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bagua.torch.export", description=__doc__.splitlines()[0])
    parser.add_argument("step", metavar="FILE.py[:FUNCTION]")
    parser.add_argument("out", metavar="OUT")
    given = parser.parse_args()
    try:
        export_step(*load(given.step)()).write(given.out)
    except ExportError as error:
        sys.exit(f"bagua.torch.export: {error}")


if __name__ == "__main__":
    main()
