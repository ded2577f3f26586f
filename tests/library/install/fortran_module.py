#!/usr/bin/env python3
"""Compares the Fortran module with the header: fortran_module.py packwright.h packwright.f90.

Every function of the header is bound once, with as many arguments and a result if there is one, and is public under its
name; every constant has the header's value; every struct that is bound has the header's fields in the header's order.
"""
import re
import sys


def strip_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def arguments_of(text):
    text = text.strip()
    return [] if text in ("", "void") else text.split(",")


def functions_of_header(text):
    """Name -> number of arguments, and whether there is a result."""
    found = re.findall(r"PACKWRIGHT_API\s+([^;()]*?)(packwright_\w+)\(([^;]*?)\)\s*;", text, flags=re.S)
    return {name: (len(arguments_of(arguments)), result.strip() != "void") for result, name, arguments in found}


def constants_of_header(text):
    values = dict((name, int(value)) for name, value in re.findall(r"#define\s+(PACKWRIGHT_\w+)\s+\(?(-?\d+)\)?", text))
    for body in re.findall(r"typedef enum \w+\s*\{(.*?)\}", text, flags=re.S):
        value = -1
        for word in body.split(","):
            match = re.match(r"\s*(\w+)\s*(?:=\s*(-?\d+))?\s*$", word)
            if match:
                value = int(match.group(2)) if match.group(2) else value + 1
                values[match.group(1)] = value
    del values["PACKWRIGHT_ABI"]
    return values


def structs_of_header(text):
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+)\s*\{(.*?)\}", text, flags=re.S):
        structs[name] = [re.search(r"(\w+)\s*$", field).group(1)
                         for declaration in body.split(";") if declaration.strip() for field in declaration.split(",")]
    return structs


def joined_lines(text):
    """Fortran without comments and continued lines. No string of the module has an exclamation mark."""
    text = re.sub(r"![^\n]*", "", text)
    return re.sub(r"&\s*\n\s*&?", " ", text)


def bindings_of_module(text):
    found = re.findall(r"(function|subroutine)\s+\w+\(([^()]*)\)\s*bind\(c, name='(packwright_\w+)'\)", text)
    return [(name, len(arguments_of(arguments)), kind == "function") for kind, arguments, name in found]


def public_names(text):
    return set(re.findall(r"\w+", " ".join(re.findall(r"public\s*::([^\n]*)", text))))


def constants_of_module(text):
    found = re.findall(r"enumerator :: (\w+) = (-?\d+)", text) + re.findall(r"parameter :: (PACKWRIGHT_\w+) = (-?\d+)", text)
    return {name: int(value) for name, value in found}


def structs_of_module(text):
    structs = {}
    for name, body in re.findall(r"type, bind\(c\)[^\n]*:: (\w+)\n(.*?)end type", text, flags=re.S):
        fields = " , ".join(re.findall(r"::([^\n]*)", body))
        structs[name] = re.findall(r"(\w+)(?:\s*=\s*[\w.]+)?\s*(?:,|$)", fields)
    return structs


def main():
    header = strip_comments(open(sys.argv[1]).read())
    module = joined_lines(open(sys.argv[2]).read())
    wrong = []

    functions, bindings, public = functions_of_header(header), bindings_of_module(module), public_names(module)
    if len(functions) < 30:
        wrong.append("only %d functions were found in the header" % len(functions))
    for name, (arguments, has_result) in sorted(functions.items()):
        bound = [b for b in bindings if b[0] == name]
        if len(bound) != 1:
            wrong.append("%s is bound %d times" % (name, len(bound)))
        elif bound[0][1:] != (arguments, has_result):
            wrong.append("%s has %d arguments in the header, or another result" % (name, arguments))
        if name not in public:
            wrong.append(name + " is not public")
    wrong += ["%s is not in the header" % b[0] for b in bindings if b[0] not in functions]

    expected, there = constants_of_header(header), constants_of_module(module)
    for name in sorted(set(expected) | set(there)):
        if expected.get(name) != there.get(name):
            wrong.append("%s is %s in the header, %s in the module" % (name, expected.get(name), there.get(name)))
        if name in expected and name not in public:
            wrong.append(name + " is not public")

    expected = structs_of_header(header)
    for name, fields in structs_of_module(module).items():
        if name != "packwright_type" and expected.get(name) != fields:
            wrong.append("%s: the header has %s, the module %s" % (name, expected.get(name), fields))
    wrong += ["the module has no " + name for name in expected if name not in structs_of_module(module)]

    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
