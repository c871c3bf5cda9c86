#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""export_suite.py OUT [--ranks=N] [--only=CONSTRUCT[.FORM],..]: every construct in every form, as this version of JAX writes it.

Writes OUT/CONSTRUCT.FORM.mlir, its arguments beside it (.npz), and OUT/suite.json: what the model that made a text
knows of it. Needs flax and optax.
"""
import argparse
import json
import os
import re
import sys


def components(path):
    """first, 0 and kernel of ['first'][0].kernel; `.value` is a variable's (flax.nnx)."""
    found = ["".join(parts) for parts in re.findall(r"\['([^']*)'\]|\[(\d+)\]|\.(\w+)", path)]
    return [part for part in found if part != "value"]


def states_of(step, arguments):
    """By argument, as texts name it with its path and without one, the path inside its tree of each leaf of state."""
    import jax
    found, index = {}, 0
    for name, value in zip(step.arguments or (*step.states, "batch", *step.inputs), arguments):
        for path, _ in jax.tree_util.tree_flatten_with_path(value)[0]:
            key = jax.tree_util.keystr(path)
            if name in step.states:
                found[name + key] = found[f"flat_args[{index}]"] = components(key)
            index += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only")
    given = parser.parse_args()
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import numpy
    import constructs
    import forms
    import meshes  # noqa: F401, adds its constructs
    import methods  # noqa: F401, adds its constructs
    os.makedirs(given.out, exist_ok=True)
    suite, failed = [], 0
    only = given.only.split(",") if given.only else None
    for name, make in constructs.CONSTRUCTS.items():
        if only and all(name != wanted.split(".")[0] for wanted in only):
            continue
        try:
            step = make()
        except (ImportError, AttributeError) as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        for form in step.forms or forms.FORMS:
            if not forms.exists(form) or (only and name not in only and f"{name}.{form}" not in only):
                continue
            try:
                text, arguments, leaves = forms.export(step, form, given.ranks)
            except Exception as why:  # a construct that can't be written in a form
                print(f"{name}.{form}: {type(why).__name__}: {str(why).splitlines()[0]}", file=sys.stderr)
                failed += 1
                continue
            with open(f"{given.out}/{name}.{form}.mlir", "w", encoding="utf-8") as file:
                file.write(text)
            numpy.savez(f"{given.out}/{name}.{form}.npz", **{str(i): leaf for i, leaf in enumerate(leaves)})
            gradients = step.gradients
            if step.gradients_named is not None and "flat_args" not in text:
                gradients = step.gradients_named
            if form == "single" and step.gradients_alone is not None:
                gradients = step.gradients_alone
            if "checked" in form and step.gradients_checked is not None:
                gradients = step.gradients_checked
            suite.append({"construct": name, "form": form, "named": "flat_args" not in text,
                          "refused": step.refused.get(form, ""), "ulps": step.ulps, "ulps_of_sums": step.ulps_of_sums,
                          "states": states_of(step, arguments),
                          # What is reduced of a step of shardings alone is the partitioner's choice.
                          "gradients": None if form == "annotated" or gradients is None else {
                              path: {"shape": list(leaf.shape), "type": str(leaf.dtype)}
                              for path, leaf in gradients.items()}})
    with open(f"{given.out}/suite.json", "w", encoding="utf-8") as file:
        json.dump(suite, file, indent=1)
    print(f"{len(suite)} texts of {len({entry['construct'] for entry in suite})} constructs, {failed} can't be written")


if __name__ == "__main__":
    main()
