"""Compares manual pages with help texts: man_pages.py PACKWRIGHT DIRECTORY."""
import os
import re
import subprocess
import sys

packwright, directory = sys.argv[1:3]
wrong = []


def help_text(*words):
    return subprocess.run([packwright, "help", *words], text=True, stdout=subprocess.PIPE, check=True).stdout


def plain(page):
    """The text of a page without the font escapes and macros that may stand inside a word."""
    text = re.sub(r'^\.(?:BR|RB|BI|IB|IR|RI)\s+(.*)$', lambda m: join_words(m.group(1)), page, flags=re.M)
    return re.sub(r"\\f[BIRP]|\\&", "", text).replace("\\-", "-")


def join_words(line):
    """Macros of two fonts set their words without blanks between them."""
    return "".join(a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', line))


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


commands = re.findall(r"^  ([a-z]+) ", help_text(), flags=re.M)
everything = set().union(*(options(help_text(command)) for command in commands if command != "help"))
main = plain(open(os.path.join(directory, "packwright.1")).read())
for command in commands:
    if command == "help":
        continue
    if "packwright-%s(1)" % command not in main:
        wrong.append("packwright.1 does not name packwright-%s(1)" % command)
    path = os.path.join(directory, "packwright-%s.1" % command)
    if not os.path.exists(path):
        wrong.append("there is no page packwright-%s.1" % command)
        continue
    page = plain(open(path).read())
    documented, known = options(page) - {"--help"}, options(help_text(command)) - {"--help"}
    wrong += ["packwright-%s.1: %s is in the help text only" % (command, o) for o in sorted(known - documented)]
    wrong += ["packwright-%s.1: %s is in no help text" % (command, o) for o in sorted(documented - everything)]
print("\n".join(wrong))
sys.exit(bool(wrong))
