"""What all recorded runs say together.

`gather` finds the runs, `arena` chooses the records that count, and `score` judges algorithms against
the ceiling.
"""
