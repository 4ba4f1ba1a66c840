"""Finds slow drifts: a change point test over stored runs of one device.

`series` makes one series a cell and one an algorithm from many runs, free of what the machine did to all.
`change` tests a series, and judges many at once.
"""
