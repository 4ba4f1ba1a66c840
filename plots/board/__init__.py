"""The board: a static site of all recorded runs, which needs no network and no server.

`gather` finds the runs, `arena` chooses the records that count, `score` judges algorithms against the
ceiling, `past` follows them over commits, `knn` and `papers` add what is no sweep, and `site` writes the
files. The pages' scripts are in `page/` and `plots/web`.
"""
