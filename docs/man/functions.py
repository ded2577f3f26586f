#!/usr/bin/env python3
"""Writes a manual page for each function of the library: functions.py PAGE HEADER DIRECTORY

A page has the prototype and the comment of the header, and what packwright(3), which is PAGE, says of the function.
"""
import re
import sys
from pathlib import Path

# What packwright(3) says of functions together, as the entry of a list: the names, and the text.
ENTRY = re.compile(r"^\.TP\n\.BR? ([^\n]*packwright_[^\n]*)\n(.*?)(?=^\.(?:TP|SH|SS))", re.M | re.S)
# A comment of the header, and the declarations up to the next one.
COMMENT = re.compile(r"/\*(?!-| ---)((?:[^*]|\*(?!/))*)\*/\n((?:[^/\n][^\n]*\n|\n(?=PACKWRIGHT_API))+)")
DECLARATION = re.compile(r"^PACKWRIGHT_API\s+([^;]*?\b(packwright_\w+)\s*\([^;]*\));", re.M)


def entries(page):
    """{function: what packwright(3) says, in roff}."""
    return {name: text.strip() for names, text in ENTRY.findall(page) for name in re.findall(r"packwright_\w+", names)}


def comments(header, said):
    """{function: its comment}. A comment is also that of the functions after the first that packwright(3) describes with it."""
    found = {}
    for text, following in COMMENT.findall(header):
        names = [name for _, name in DECLARATION.findall(following)]
        for name in names:
            if said.get(name) == said.get(names[0]):
                found[name] = re.sub(r"\s*\n\s*\*? *", " ", text).strip()
    return found


def roff(text):
    """Plain text as roff: no character of it is a request."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def plain(text):
    """What roff shows, without its fonts, on one line."""
    shown = re.sub(r"\\f.|\\&", "", re.sub(r'^\.\w+ |"', "", text, flags=re.M))
    return re.sub(r" (?=[,.]|\(\d\))", "", " ".join(shown.split()))


def page_of(name, prototype, entry, comment):
    summary = re.split(r"[.:] ", plain(entry) + " ")[0]
    argument = prototype.index("(") + 1
    arguments = [roff(" ".join(a.split())) for a in prototype[argument:-1].split(",")]
    lines = [f'.TH {name.upper()} 3 "" "packwright" "Packwright"', ".SH NAME", f"{name} \\- {summary[0].lower()}{summary[1:]}",
             ".SH LIBRARY", "Packwright's engine", '.RI ( libpackwright ", " \\-lpackwright )', ".SH SYNOPSIS", ".nf",
             ".B #include <packwright/packwright.h>", ".PP", f'.B "{" ".join(prototype[:argument].split())}']
    lines[-1] += f"{arguments[0]}{',' if arguments[1:] else ');'}\""
    lines += [f'.B "    {a}{");" if i == len(arguments) - 1 else ","}"' for i, a in enumerate(arguments) if i]
    lines += [".fi", ".SH DESCRIPTION", entry]
    lines += [".PP", roff(comment)] if comment else []
    if prototype.startswith("packwright_status "):
        lines += [".SH RETURN VALUE", "PACKWRIGHT_OK (0), or an error, after which outputs and buffers are as they were and",
                  ".BR packwright_last_error (3)", "says what was wrong."]
    lines += [".SH ATTRIBUTES", "Any number of threads may call it at the same time.", ".SH SEE ALSO",
              ".BR packwright (3),", "which has the rules that hold for all functions, the errors and an example."]
    return "\n".join(lines) + "\n"


def main():
    page, header, target = (Path(argument) for argument in sys.argv[1:])
    said, text = entries(page.read_text()), header.read_text()
    remarks = comments(text, said)
    target.mkdir(parents=True, exist_ok=True)
    for prototype, name in DECLARATION.findall(text):
        if name not in said:
            sys.exit(f"{page}: {name} is not described")
        (target / f"{name}.3").write_text(page_of(name, prototype, said[name], remarks.get(name)))


if __name__ == "__main__":
    main()
