# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden plans: NAME.bagua, NAME.txt (its text) and in digests.txt a line "NAME DIGEST" (of the results of --check)."""
import glob
import json
import os
import subprocess


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def text_of(path):
    done = run("bagua-translate", "--print-plan", path)
    if done.returncode:
        raise SystemExit(f"{path}: {done.stderr}")
    return done.stdout


def digest_of(path):
    done = run("bagua-run", path, "--check", "--json", "--time-scale=0", "--steps=1")
    if done.returncode:
        raise SystemExit(f"{path}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)["check"]["digest"]


def read_all(folder):
    """Of each golden: its name, its path, its text and its digest."""
    with open(f"{folder}/digests.txt", encoding="ascii") as file:
        digests = dict(line.split() for line in file)
    names = sorted(os.path.basename(path)[:-len(".bagua")] for path in glob.glob(f"{folder}/*.bagua"))
    if names != sorted(digests):
        raise SystemExit(f"expected digests of {names}, found {sorted(digests)}")
    for name in names:
        with open(f"{folder}/{name}.txt", encoding="utf-8") as file:
            yield name, f"{folder}/{name}.bagua", file.read(), digests[name]


def schema_of(source):
    with open(f"{source}/include/bagua/Runtime/Plan.fbs", encoding="utf-8") as file:
        return file.read()
