# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""parts_cost.py CLUSTER: whether four messages of a calibrated table take as long as one of four times their bytes."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tables = re.findall(r"(\w+) = array<i64: ([^>]*)>", file.read())
for name, text in tables:
    numbers = [int(number) for number in text.split(",")]
    for nbytes, ns, more in zip(numbers[::2], numbers[1::2], numbers[3::2]):
        if more > 4 * ns:
            sys.exit(f"{name}: {nbytes} bytes take {ns} ns, four times as many {more}")
print(f"{len(tables)} tables")
