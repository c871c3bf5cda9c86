#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""long_chain.py COUNT - Prints a step whose gradient is halved COUNT times before it is reduced."""
import sys

count = int(sys.argv[1])
print('!t = tensor<8xf32>\n'
      'bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]\n'
      'bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {\n'
      '  %v0 = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")')
for index in range(count):
    print(f'  %v{index + 1} = bagua.linear [0.5] (%v{index}) : !t')
print(f'  %r = bagua.all_reduce mean %v{count} over [node] : !t\n'
      '  %n = bagua.sgd (%w) grad %r lr 0.1 : !t\n'
      '  bagua.yield %n : !t\n'
      '}')
