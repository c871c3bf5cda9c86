#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A test for bagua-reduce: 1 while the step is still refused by the graph proof.
bagua-opt --bagua-verify-graph "$1" >/dev/null 2>&1 && exit 0
exit 1
