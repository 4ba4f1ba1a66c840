"""Figures from recorded runs.

`python -m plots RUN_DIR` reads a run's `runs.jsonl` and `meta.json`, never the program that wrote
them, and draws every figure module of `plots.figures`. Loading (`records`), choosing what belongs
into one figure (`slices`), appearance (`style`, `page`) and writing (`save`) are separate, so that
a new figure is one small file.
"""
