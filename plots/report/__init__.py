"""An HTML report of one run: one file that needs no network and no server.

`data` picks what the page shows, `page/` is the page: a template, a style sheet and scripts, put
together by `build`. The page's policy forbids it every request.
"""
