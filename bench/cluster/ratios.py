# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How sure a median of ratios is: median, low, high = median_with_interval(ratios)"""
import random
import statistics


def median_with_interval(values, rounds=2000):
    """With the ends of its 95 % interval (bootstrap, the same draws in each call)."""
    drawn = random.Random(1)
    medians = sorted(statistics.median(drawn.choices(values, k=len(values))) for _ in range(rounds))
    return statistics.median(values), medians[rounds // 40], medians[-1 - rounds // 40]
