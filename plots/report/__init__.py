"""An HTML report of one run: a single file that needs no network and no server.

`data` picks the data that the page shows. `build` joins them with the template, style sheet and
scripts of `page/`. The page's content security policy forbids all requests.
"""
