# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_goldens.py SOURCE FOLDER WORK: loads, prints and runs each golden plan."""
import os
import re
import sys

import goldens


def main(source, folder, work):
    os.makedirs(work, exist_ok=True)
    missing = {re.sub("(?<=[a-z])(?=[A-Z])", "_", opcode).lower() for opcode in
               re.search(r"enum Opcode : ubyte {(.*?)\n}", re.sub("//.*", "", goldens.schema_of(source)), re.S)[1]
               .replace("= 0", "").replace(",", " ").split()}
    count = 0
    for name, path, text, digest in goldens.read_all(folder):
        if goldens.text_of(path) != text:
            sys.exit(f"{name}: prints otherwise than {path[:-len('.bagua')]}.txt")
        if goldens.digest_of(path) != digest:
            sys.exit(f"{name}: expected results of digest {digest}, found {goldens.digest_of(path)}")
        missing -= set(re.findall(r"\b[a-z_]+\b", text))
        count += 1
    if missing:
        sys.exit(f"expected every opcode in some golden plan, found none of {sorted(missing)}")
    print(f"{count} plans of version 2.0, every opcode among them")


if __name__ == "__main__":
    main(*sys.argv[1:])
