"""The three papers' figures and tables, drawn again from records, and what became of their claims.

`experiments/*.toml` lists every published experiment: its config, the records that hold it, the
figures to draw and the claims to test (`manifest`). `library` finds the records, `figures` draws,
`claims` tests, `document` writes REPRODUCTION.md. A new experiment is one entry of a list.
"""
