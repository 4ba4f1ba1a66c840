"""A selection in Triton, proven and timed beside kselect's own: `python examples/triton/least.py`.

It needs kselect's package, triton and torch. With TRITON_INTERPRET=1 the kernel runs on the CPU, which proves it and
times nothing of interest. `python examples/triton/least.py CONFIG DIR` runs a config that names it, such as beside.json,
and records into DIR; that one also measures the plug-in of examples/plugin, whose file WARP_LIST names.

The kernel takes one row a program, holds it in registers and takes the least element k times: n * k steps, for short rows
and small k. Equal elements go by index, because tl.argmin takes the first.
"""

import os
import sys
from typing import Any

import triton
import triton.language as tl

import kselect

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# Rows must have no infinities: they stand for what is taken. Nor NaN, which tl.argmin may take.
CONTRACT = kselect.bench.Contract(
    mode="smallest", sorted=True, stable=True, infinities=False, max_n=8192, max_k=64
)


# `k` is a constant of the kernel: the interpreter of Triton 3.6 cannot take a tensor as the number of turns of a loop.
@triton.jit
def least_kernel(rows, values, indices, n, pitch, k: tl.constexpr, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, D103, N803
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    left = tl.load(rows + row * pitch + at, mask=at < n, other=float("inf"))
    for j in range(k):
        first = tl.argmin(left, 0)
        tl.store(values + row * k + j, tl.min(left, 0))
        tl.store(indices + row * k + j, first)
        left = tl.where(at == first, float("inf"), left)


def least(rows: Any, k: int, values: Any, indices: Any, stream: Any) -> None:
    """Select the k least of each row, [Q, n], into values and indices, [Q, k], on torch's current stream."""
    q, n = rows.shape
    block = triton.next_power_of_2(n)
    least_kernel[(q,)](rows, values, indices, n, rows.stride(0), k=k, BLOCK=block)


def main() -> None:
    """Hold the kernel against the battery, then against `auto` and torch.topk."""
    executor = "cpu" if INTERPRETED else "cuda"
    kselect.bench.register(
        "triton-least", least, contract=CONTRACT, arrays="torch", executors=(executor,), family="triton"
    )
    for case in kselect.bench.test("triton-least", cases="EveryDistribution"):
        assert not case["reason"], case
    if arguments := sys.argv[1:]:
        config, out = arguments
        print(kselect.bench.run(config, out=out))
        return
    shapes = [(64, 3, 4)] if INTERPRETED else [(1024, 4096, 8), (4096, 1024, 32)]
    names = ["triton-least", "auto", "torch.topk"]
    print(kselect.bench.run(shapes, algorithms=names, executor=executor))


if __name__ == "__main__":
    main()
