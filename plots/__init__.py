"""Figures from recorded runs.

`python -m plots RUN_DIR` reads a run's `runs.jsonl` and `meta.json` and draws every figure module
of `plots.figures`. It does not need the kselect program. Loading (`records`), grouping cells into
figures (`slices`), appearance (`style`, `page`) and writing (`save`) are separate modules, so that
a new figure is one small file.
"""
