"""Pictures as they are written: small, with the colours and the text of what was drawn."""

import io

import numpy
from matplotlib.figure import Figure
from PIL import Image, ImageChops
from plots import style
from plots.figures import Drawing
from plots.save import encode


def drawing() -> Drawing:
    """Return a figure with many lines over translucent bands, which mix into many colours.

    It has eight, as many as the committed figures have at most.
    """
    style.apply()
    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    x = numpy.linspace(0, 1, 50)
    for i, colour in enumerate(style.COLOURS[:8]):
        y = numpy.sin(5 * x + i)
        axes.plot(x, y, color=colour, label=f"line {i}")
        axes.fill_between(x, y - 0.3, y + 0.3, color=colour, alpha=0.2)
    axes.legend()
    return Drawing("lines", figure, [{"x": 1}], source="out/run/runs.jsonl (sha256 0123)")


def test_a_picture_has_a_palette_and_the_colours_that_were_drawn() -> None:
    made = drawing()
    coded = encode(made, ["png"])["png"]
    full = io.BytesIO()
    made.figure.savefig(full, format="png", dpi=150)
    picture = Image.open(io.BytesIO(coded))
    assert picture.mode == "P"
    assert len(coded) < len(full.getvalue()) / 2
    true = numpy.asarray(Image.open(full).convert("RGB"), dtype=int)
    found = numpy.asarray(picture.convert("RGB"), dtype=int)
    # Half of what `reproduce --check` sees: two renderings may each have a palette of their own.
    assert numpy.abs(true - found).max() <= 24
    assert (found[0, 0] == 255).all()


def coded_and_true(figure: Figure) -> tuple[Image.Image, Image.Image]:
    """Return a figure's picture as it is written and as it is drawn."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=150)
    coded = encode(Drawing("one", figure, [{"x": 1}]), ["png"])["png"]
    return Image.open(io.BytesIO(coded)), Image.open(full).convert("RGB")


def test_a_picture_of_few_colours_has_a_small_palette() -> None:
    style.apply()
    figure = Figure(figsize=(6, 4))
    figure.subplots().plot([0, 1], [0, 1], color="black")
    coded, true = coded_and_true(figure)
    assert len(coded.getcolors()) <= 32
    errors = ImageChops.difference(true, coded.convert("RGB")).getextrema()
    assert max(largest for _, largest in errors) <= 8


def test_a_picture_of_many_colours_has_the_largest_palette() -> None:
    assert len(coded_and_true(drawing().figure)[0].getcolors()) > 128


def test_a_picture_keeps_its_source_and_resolution() -> None:
    picture = Image.open(io.BytesIO(encode(drawing(), ["png"])["png"]))
    assert picture.info["Source"] == "out/run/runs.jsonl (sha256 0123)"
    assert round(picture.info["dpi"][0]) == 150
    assert "Software" not in picture.info


def test_equal_drawings_give_equal_bytes() -> None:
    assert encode(drawing(), ["png"]) == encode(drawing(), ["png"])


def test_equal_drawings_give_equal_pdf_with_whole_letters() -> None:
    """Fonts are embedded as fonts, whose letters can be searched and copied."""
    first, second = (encode(drawing(), ["pdf"])["pdf"] for _ in range(2))
    assert first == second
    assert b"/CIDFontType2" in first and b"/Type3" not in first
