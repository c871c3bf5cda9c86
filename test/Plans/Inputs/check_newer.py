# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_newer.py SOURCE FOLDER WORK: golden plans as a later minor version may write them.

The schema gets a field more in each table and one opcode more; flatc, which made our reader, writes the goldens by it.
"""
import json
import os
import re
import subprocess
import sys

import goldens

FUTURE = "from_the_future"
PLACEHOLDER = 0x1122334455667788


def newer(schema):
    schema = re.sub(r"(\ntable \w+ {.*?)\n}", rf"\1\n  {FUTURE}: [ulong];\n}}", schema, flags=re.S)
    return re.sub(r"(enum Opcode : ubyte {.*?)\n}", r"\1,\n  FromTheFuture\n}", schema, flags=re.S)


def with_future(node):
    if isinstance(node, list):
        return [with_future(element) for element in node]
    if isinstance(node, dict):
        return {**{key: with_future(value) for key, value in node.items()}, FUTURE: [1, 2, 3]}
    return node


class Writer:
    def __init__(self, source, work):
        self.work, self.schema, self.newer = work, f"{source}/include/bagua/Runtime/Plan.fbs", f"{work}/newer.fbs"
        os.makedirs(work, exist_ok=True)
        with open(self.newer, "w", encoding="utf-8") as file:
            file.write(newer(goldens.schema_of(source)))

    def read(self, path):
        subprocess.run(["flatc", "--json", "--strict-json", "--raw-binary", "-o", self.work, self.schema, "--", path], check=True)
        with open(f"{self.work}/{os.path.basename(path)[:-len('.bagua')]}.json", encoding="utf-8") as file:
            return json.load(file)

    def write(self, name, plan):
        """With the fingerprint that the runtime expects."""
        plan = with_future({**plan, "minor_version": 9, "fingerprint": PLACEHOLDER})
        with open(f"{self.work}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(plan, file)
        subprocess.run(["flatc", "--binary", "-o", self.work, self.newer, f"{self.work}/{name}.json"], check=True)
        path = f"{self.work}/{name}.bagua"
        expected = re.search("expected fingerprint ([0-9a-f]+)", goldens.run("bagua-translate", "--print-plan", path).stderr)[1]
        with open(path, "rb") as file:
            content = file.read()
        if content.count(PLACEHOLDER.to_bytes(8, "little")) != 1:
            sys.exit(f"{name}: expected one fingerprint")
        with open(path, "wb") as file:
            file.write(content.replace(PLACEHOLDER.to_bytes(8, "little"), int(expected, 16).to_bytes(8, "little")))
        return path


def main(source, folder, work):
    writer, count = Writer(source, work), 0
    for name, path, text, digest in goldens.read_all(folder):
        plan = writer.read(path)
        written = writer.write(name, plan)
        if goldens.text_of(written).split("\n")[1:] != text.split("\n")[1:]:
            sys.exit(f"{name}: prints otherwise in its newer form")
        if goldens.digest_of(written) != digest:
            sys.exit(f"{name}: runs otherwise in its newer form")
        count += 1
    print(f"{count} plans of version 2.9 with fields from the future: the same text, the same bits")
    plan["features"] = sorted([*plan["features"], FUTURE])
    plan["steps"][-1]["instructions"][-1]["opcode"] = "FromTheFuture"
    refused = goldens.run("bagua-run", writer.write("needs", plan))
    if refused.returncode != 1:
        sys.exit(f"expected an exit of 1, found {refused.returncode}")
    print(refused.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
