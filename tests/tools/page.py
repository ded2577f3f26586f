"""Checks a page of `packwright inspect --html`: page.py PAGE [ASSEMBLY].

It is well-formed, loads nothing, and every line of assembly with a number has a line of IR with that number. Its
assembly is the given one but for what the line numbers brought."""
import html
import html.parser
import re
import sys

text = open(sys.argv[1]).read()
VOID = {"meta", "link", "br"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert not any(name in ("src", "href") and not (value or "").startswith("#") for name, value in attributes), tag
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


checker = Checker()
checker.feed(text)
assert not checker.open, checker.open
ir, assembly = text.split("<h3>Assembly</h3>")
number = re.compile(r"data-line='(\d+)'")
linked = set(number.findall(assembly))
assert len(linked) > 20, len(linked)
assert linked <= set(number.findall(ir)), linked
assert ".loc" not in assembly
if len(sys.argv) > 2:
    lines = re.findall(r"<span class='code'[^>]*>(.*?)</span>", assembly, flags=re.S)
    dropped = re.compile(r"\t\.file|# |\t\.section|\t\.(ident|cfi)")
    code = [l for l in map(html.unescape, lines) if l.startswith("\t") and not dropped.match(l)]
    want = [l for l in open(sys.argv[2]).read().split("\n") if l.startswith("\t") and not dropped.match(l)]
    instructions = lambda list: [re.split(r"\s*#", l)[0] for l in list if l[1:2] != "."]
    names = lambda list: [re.sub(r"\.L\w+", ".L", l) for l in instructions(list)]
    assert names(code) == names(want), [(a, b) for a, b in zip(names(code), names(want)) if a != b][:5]
