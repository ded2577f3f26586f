"""Checks that all text of a drawing lies on its page: svg_fits.py SVG …"""
import re
import sys
import xml.dom.minidom

# Widths of a character of each class, generously.
WIDTH = {"t": 8.5, "f": 7, "s": 6.5, "l": 5.5, "r": 6.1, "n": 5.8, "b": 7}
for path in sys.argv[1:]:
    svg = xml.dom.minidom.parse(path).documentElement
    page = int(svg.getAttribute("width"))
    for text in svg.getElementsByTagName("text"):
        kind, x = text.getAttribute("class"), float(text.getAttribute("x"))
        length = WIDTH[kind] * len(text.firstChild.data)
        left = x - length if kind == "r" else x - length / 2 if kind in "nb" else x
        assert left >= -1 and left + length <= page + 1, (path, kind, text.firstChild.data, left, left + length, page)
