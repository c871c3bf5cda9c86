#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios of fields of two reports: ratio.py A.json B.json FIELD..."""
import json
import sys

a, b = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for field in sys.argv[3:]:
    print(field, round(a[field] / b[field], 1))
