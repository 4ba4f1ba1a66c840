"""Selects and searches on the CPU: `python examples/python/neighbours.py`.

It needs the package: `pip install .` in the source tree. Editors show its cells, between lines with `# %%`, as a
notebook. Each checks what it prints.
"""

# %%
import numpy as np

import kselect

random = np.random.default_rng(7)

# %% The best three of each of two rows, and where they are.
scores = np.array([[0.1, 0.9, 0.4, 0.7], [0.8, 0.2, 0.6, 0.3]], np.float32)
values, indices = kselect.top_k(scores, 3)
for row, (best, places) in enumerate(zip(values, indices, strict=True)):
    print(f"row {row}:", ", ".join(f"{value:.1f} at {place}" for value, place in zip(best, places, strict=True)))
assert indices.tolist() == [[1, 3, 2], [0, 2, 3]]

# %% Along any axis of any number of dimensions; of equal elements the first ones.
images = random.integers(0, 4, (6, 5, 4)).astype(np.float16)
least = kselect.top_k(images, 2, axis=0, mode="smallest", stable=True)
assert least.values.shape == (2, 5, 4)
assert (least.values == np.sort(images, axis=0)[:2]).all()

# %% Rows of lengths of their own, as of requests of a batch: what they lack has index -1.
lengths = np.array([2, 4])
indices = kselect.top_k(scores, 3, lengths=lengths, indices_only=True)
assert indices.tolist() == [[1, 0, -1], [0, 2, 3]]

# %% In a loop: the plan keeps its outputs and its workspace.
select = kselect.plan(np.empty((100, 2000)), 10)
total = 0.0
for _ in range(5):
    batch = random.random((100, 2000))
    total += select(batch).values.sum()
    assert (select.values == -np.sort(-batch, axis=1)[:, :10]).all()
print(f"sum of the best: {total:.3f}")

# %% Exact nearest neighbours. Vectors of a few clusters find their own.
centres = random.normal(size=(10, 16))
labels = np.repeat(np.arange(10), 50)
vectors = (centres[labels] * 20 + random.normal(size=(500, 16))).astype(np.float32)
corpus = kselect.Corpus(vectors, metric="euclidean")
distances, indices = corpus.graph(5)
print(f"neighbours of the same cluster: {(labels[indices] == labels[:, None]).mean():.0%}")
assert (labels[indices] == labels[:, None]).all()
assert (np.diff(distances, axis=1) >= 0).all()
