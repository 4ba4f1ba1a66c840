"""Draws the figures and tables of the three papers from records, and tests the papers' claims.

`experiments/*.toml` lists every published experiment: its config, its records, the figures to draw
and the claims to test (`manifest`). `library` finds the records, `figures` draws, `claims` tests,
`document` writes REPRODUCTION.md. A new experiment is one entry of a list.
"""
