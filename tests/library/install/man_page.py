#!/usr/bin/env python3
"""Compares a manual page with headers: man_page.py packwright.3 header…

The page names every function and every constant of an enum, and nothing that the headers lack.
"""
import re
import sys

page = open(sys.argv[1]).read()
text = re.sub(r"\\f[BIRP]|\\&", "", page).replace("\\-", "-")
headers = re.sub(r"/\*.*?\*/|//[^\n]*", " ", "\n".join(open(path).read() for path in sys.argv[2:]), flags=re.S)
functions = set(re.findall(r"\b(packwright_\w+)\s*\(", " ".join(re.findall(r"PACKWRIGHT_API[^;]*;", headers))))
constants = {word for body in re.findall(r"typedef enum \w+\s*\{(.*?)\}", headers, flags=re.S)
             for word in re.findall(r"PACKWRIGHT_\w+", body)}
described = set(re.findall(r"packwright_\w+", " ".join(re.findall(r"^\.TP\n(\.BR? .*)$", text, flags=re.M))))
known = set(re.findall(r"\w+", headers))
wrong = ["%s is not described" % name for name in sorted(functions - described)]
wrong += ["%s is not named" % name for name in sorted(constants - set(re.findall(r"\w+", text)))]
wrong += ["%s is in no header" % name for name in sorted(set(re.findall(r"packwright_\w+", text)) - known)]
wrong += ["only %d functions were found in the headers" % len(functions)] if len(functions) < 30 else []
print("\n".join(wrong))
sys.exit(bool(wrong))
