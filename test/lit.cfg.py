# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit.cfg.py - The lit suite: one file a behaviour, each readable as documentation.
import os
import shutil

import lit.formats

config.name = "Bagua"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["graphs", "profiles", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
path = [os.path.join(config.bagua_build, "bin"), config.llvm_tools, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.substitutions.append(("%source", config.bagua_source))
config.substitutions.append(("%build", config.bagua_build))
config.substitutions.append(("%graphs", os.path.join(config.test_source_root, "graphs")))
# Long sweeps run where BAGUA_FULL_TESTS is set, by `scripts/test --full`.
if os.environ.get("BAGUA_FULL_TESTS"):
    config.available_features.add("full")
    config.environment["BAGUA_FULL_TESTS"] = "1"
# XLA can compare numbers, an older JAX exports texts, and so does PyTorch: scripts/setup installs them.
cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "bagua")
config.substitutions.append(("%torchrun", os.path.join(cache, "torch", "bin", "torchrun")))
for name in ("jax-new", "jax-old", "jax", "torch"):
    python = os.path.join(cache, name, "bin", "python")
    if os.path.exists(python):
        config.available_features.add(name)
    config.substitutions.append(("%" + name, python))
# Open MPI starts ranks.
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
# Pages can be played.
if shutil.which("node"):
    config.available_features.add("node")
# Reads, prints, reads again, also through the generic form and with locations: nothing changes.
round_trip = " && ".join([
    "bagua-opt %s -o %t.once", "bagua-opt %t.once -o %t.twice", "diff %t.once %t.twice",
    "bagua-opt --mlir-print-op-generic --mlir-print-debuginfo %s | bagua-opt -o %t.generic", "diff %t.once %t.generic",
    "bagua-opt --mlir-print-debuginfo %s | bagua-opt -o %t.debug", "diff %t.once %t.debug"])
config.substitutions.append(("%round-trip", round_trip))
