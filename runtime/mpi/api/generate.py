#!/usr/bin/env python3
"""Generates the interposer's mechanical parts from the descriptions *.api (mpi.api has the format).

usage: generate.py OUTDIR FILE.api…

writes into OUTDIR:
  next.h       the table of next functions, with one typedef a call, and pw_call_X() for calls with two forms
  next.c       the table, and the names that its loader resolves
  hooks.h      prototypes of the pw_hook_X(), which are hand-written but for those of families
  natives.h    the functions that tell whether a collective is native
  families.c   the hooks of calls that have a family
  wrappers.c   the exported MPI_X
  exports.map  linker version script: those symbols and no others
"""
import re
import sys
from pathlib import Path

# role -> (C type, C type in the _c form). Directions and arrays add pointers and const.
ROLES = {
    "count": ("int", "MPI_Count"),
    "bytes": ("int", "MPI_Count"),
    "displacement": ("int", "MPI_Aint"),
    "datatype": ("MPI_Datatype",) * 2,
    "comm": ("MPI_Comm",) * 2,
    "request": ("MPI_Request",) * 2,
    "message": ("MPI_Message",) * 2,
    "op": ("MPI_Op",) * 2,
    "group": ("MPI_Group",) * 2,
    "win": ("MPI_Win",) * 2,
    "file": ("MPI_File",) * 2,
    "info": ("MPI_Info",) * 2,
    "session": ("MPI_Session",) * 2,
    "errhandler": ("MPI_Errhandler",) * 2,
    "aint": ("MPI_Aint",) * 2,
    "offset": ("MPI_Offset",) * 2,
    "string": ("const char *",) * 2,
    "rank": ("int",) * 2,
    "tag": ("int",) * 2,
    "int": ("int",) * 2,
    "argc": ("int",) * 2,
    "argv": ("char **",) * 2,
}
DIRECTIONS = ("in", "out", "inout")
ACTIONS = ("hook", "settle", "miss", "flush", "next", "pass")
EXPORTED = ("hook", "settle", "miss", "flush")
# Arrays whose type differs between the forms: how hooks get them (runtime/mpi/counts.h).
VIEWS = {"count": "pw_counts", "displacement": "pw_displs"}
# When a hook is asked at all: a cheap test, true until the next functions are known.
RESTING = "(pw_pending_any() || pw_pending_rest())"
CONDITIONS = {"pending": "pw_pending_any()", "resting": RESTING, "start": f"({RESTING} && !pw_starts_are_left(1, request))",
              "startall": f"({RESTING} && !pw_starts_are_left(count, requests))", "known": "(pw_pending_any() || pw_direct_knows_channels() || pw_loopback_knows())",
              "rma": "(pw_rma_any() || pw_gate_has_deferred())", "always": ""}
# Collectives by family, with the sides (collective.h) that have a block for each peer if they have one count for all blocks.
COLLECTIVES = {"BCAST": (), "REDUCE": (), "ALLREDUCE": (), "GATHER": ("recv",), "SCATTER": ("send",),
               **dict.fromkeys(("ALLGATHER", "NEIGHBOUR_ALLGATHER"), ("recv",)),
               **dict.fromkeys(("ALLTOALL", "NEIGHBOUR_ALLTOALL"), ("send", "recv"))}
# Fields of a pw_side by the roles of parameters.
SIDE_FIELDS = {"buffer": "buf", "count": "count", "datatype": "type", "count[]": "counts", "displacement[]": "displs", "aint[]": "displs",
               "datatype[]": "types"}
# Other families: the struct that says what a call asks for, what carries it out, the field that is true if MPI writes the buffer, and
# fields with other names than their parameters.
FAMILIES = {"transfer": ("pw_transfer", "pw_transfer_call", "gets",
                         {"origin_addr": "buf", "origin_datatype": "origin", "target_rank": "rank", "target_disp": "disp",
                          "target_count": "count", "target_datatype": "type"}),
            "file": ("pw_io_call", "pw_io_carry_out", "reads", {"datatype": "type"})}
# Fields of these that are true for calls that have a parameter of the role.
FLAGS = {"op": "accumulates", "request": "with_request", "offset": "has_offset"}
# Kinds of calls whose buffers are asked about before anything else (runtime/mpi/strategy/is_native.h, runtime/mpi/collective/is_native.h,
# runtime/mpi/one_sided/is_native.h, runtime/engine/gpu/memory.h, runtime/mpi/types/registry.h).
# Those of messages with their kind of call.
KINDS = {"blocking": "PW_CALL_BLOCKING", "nonblocking": "PW_CALL_NONBLOCKING",
         "collective": None, "transfer": None, "operand": None, "packing": None, "file": None}
ROLE_OF = {"in": "PW_SEND", "out": "PW_RECV", "inout": "PW_BOTH"}
BANNER = "/* Generated from runtime/mpi/api. */\n"


class ApiError(Exception):
    pass


class Param:
    def __init__(self, direction, role, name):
        self.array = role.endswith("[]")
        self.role = role[:-2] if self.array else role
        self.direction, self.name = direction, name
        if direction not in DIRECTIONS:
            raise ApiError(f"unknown direction '{direction}'")
        if self.role not in ROLES and self.role not in ("buffer", "status"):
            raise ApiError(f"unknown role '{self.role}'")

    def ctype(self, large):
        const = "const " if self.direction == "in" else ""
        if self.role == "buffer":
            return f"{const}void *"
        if self.role == "status":
            return f"{const}MPI_Status *"
        base = ROLES[self.role][large]
        if self.array:
            return f"{const}{base} *"
        return base if self.direction == "in" else f"{base} *".replace("* *", "**")

    def declare(self, large):
        t = self.ctype(large)
        return f"{t}{self.name}" if t.endswith("*") else f"{t} {self.name}"

    @property
    def hook_type(self):
        return VIEWS[self.role] if self.is_view else self.ctype(1)

    def declare_for_hook(self, large):
        return f"{self.hook_type} {self.name}" if self.is_view else self.declare(large)

    @property
    def widens(self):
        """Differs between the forms, so that a hook sees the wide type."""
        return self.role not in ("buffer", "status") and ROLES[self.role][0] != ROLES[self.role][1]

    @property
    def full_role(self):
        return self.role + "[]" * self.array

    @property
    def is_view(self):
        """An array that differs between the forms."""
        return self.array and self.widens

    def for_hook(self, large):
        """As an argument of a hook, in the wrapper of either form."""
        return f"({self.hook_type}){{{self.name}, {str(bool(large)).lower()}}}" if self.is_view else self.name

    def from_wide(self, large):
        """As an argument of either form, from what a hook has."""
        if self.is_view:
            return f"({self.ctype(large)}){self.name}.at"
        return f"({self.ctype(large)}){self.name}" if self.widens and not large else self.name


class Form:
    """One exported symbol: NAME or NAME_c."""

    def __init__(self, call, large):
        self.call, self.large = call, large
        self.symbol = call.name + ("_c" if large else "")
        self.since = call.large if large else call.since

    def params(self):
        return ", ".join(p.declare(self.large) for p in self.call.params) or "void"

    def types(self):
        return ", ".join(p.ctype(self.large).strip() for p in self.call.params) or "void"


class Call:
    def __init__(self, words, known):
        if len(words) < 3:
            raise ApiError("expected NAME SINCE [large=V] [returns=T] [like=NAME] [when=CONDITION] [kind=KIND] [family=FAMILY] [light] [caller] ACTION")
        self.name, self.since, self.action = words[0], version(words[1]), words[-1]
        self.large, self.returns, self.params, self.condition, self.kind = None, "int", [], None, None
        self.light, self.caller, self.family = False, False, None
        for word in words[2:-1]:
            key, _, value = word.partition("=")
            if key == "large":
                self.large = version(value)
            elif key == "returns":
                self.returns = value
            elif key == "like":
                if value not in known:
                    raise ApiError(f"like={value}: no such call before this one")
                self.params, self.family = list(known[value].params), known[value].family
            elif key == "when":
                if value not in CONDITIONS:
                    raise ApiError(f"unknown condition '{value}'")
                self.condition = CONDITIONS[value]
            elif key == "kind":
                if value not in KINDS:
                    raise ApiError(f"unknown kind '{value}'")
                self.kind = value
            elif key == "family":
                if value not in COLLECTIVES and value not in FAMILIES:
                    raise ApiError(f"unknown family '{value}'")
                self.family = value
            elif word in ("light", "caller"):
                setattr(self, word, True)
            else:
                raise ApiError(f"unknown option '{word}'")
        if self.action not in ACTIONS:
            raise ApiError(f"unknown action '{self.action}'")
        if self.action == "hook" and self.returns != "int":
            raise ApiError("only calls that return an error code can be hooked")

    @property
    def short(self):
        return self.name.removeprefix("MPI_")

    def forms(self):
        return [Form(self, 0)] + ([Form(self, 1)] if self.large else [])

    @property
    def blocking(self):
        """The name of a collective, or of the blocking form of a nonblocking one: both are native in the same cases."""
        return self.short[1:].capitalize() if any(p.role == "request" for p in self.params) else self.short

    @property
    def until_comm(self):
        return self.params[:[p.role for p in self.params].index("comm") + 1]

    @property
    def typed_buffers(self):
        """The buffers that have a count and a type: these three parameters of each."""
        triples = zip(self.params, self.params[1:], self.params[2:])
        return [t for t in triples if [p.role for p in t] == ["buffer", "count", "datatype"]]

    @property
    def messages(self):
        """The arguments that each question about a message begins with."""
        return [f"{KINDS[self.kind]}, {ROLE_OF[buf.direction]}, {type.name}, {buf.name}, {count.name}" for buf, count, type in self.typed_buffers]

    def native_question(self, large):
        """The question whether all buffers are certain to be left to MPI."""
        if self.kind == "collective":
            return f"pw_is_native_{self.blocking}({', '.join(p.for_hook(large) for p in self.until_comm)})"
        if self.kind == "operand":
            return " && ".join(["!pw_gate_has_deferred()"] + [self.operand_question(p) for p in self.params if p.role == "buffer"])
        buffers = self.typed_buffers
        if self.kind == "file":
            (buf, _, type), = buffers
            return f"!pw_gate_has_unfinished() && pw_registry_is_plain({type.name}, {buf.name})"
        if self.kind == "packing":
            (buf, count, type), = buffers
            packed, = (p for p in self.params if p.role == "buffer" and p is not buf)
            return f"pw_registry_leaves({type.name}, {buf.name}, {count.name}, {packed.name})"
        if self.kind == "transfer":
            arguments = [str(buffers[0][0].direction == "out").lower(), *(p.name for p in buffers[0]),
                         *(p.name for p in self.params if p.name in ("target_count", "target_datatype"))]
            return f"pw_transfer_is_native({', '.join(arguments)})"
        peers = {t.name: rank.name for t, rank in zip(self.params, self.params[1:]) if t.role == "datatype" and rank.role == "rank"}
        return " && ".join(f"pw_is_native({message}, {peers.get(type.name, 'MPI_ANY_SOURCE')}, PW_NOTE_STAGED_NS)"
                           for message, (_, _, type) in zip(self.messages, buffers))

    @staticmethod
    def operand_question(buffer):
        """The question whether an operand is certain to be left to MPI."""
        known = f"pw_memory_is_known_host({buffer.name})"
        # A buffer that is read may be MPI_IN_PLACE, which is no address and means something to MPI alone.
        return f"({buffer.name} == MPI_IN_PLACE || {known})" if buffer.direction == "in" else known

    def side_of(self, param):
        """The side that a parameter of a collective belongs to. The only buffer is one that is received."""
        buffers = [p for p in self.params if p.role == "buffer"]
        before = [p for p in self.params[:self.params.index(param) + 1] if p.role == "buffer"]
        return "send" if len(buffers) == 2 and len(before) == 1 else "recv"

    def sides(self, value):
        """The sides and the root of a collective, as fields. Both sides of a reduction have its count and its type."""
        out, computes = [], any(p.role == "op" for p in self.params)
        for side in "send", "recv":
            of = [p for p in self.params if p.full_role in SIDE_FIELDS and
                  (self.side_of(p) == side or (computes and p.role != "buffer"))]
            roles = [p.full_role for p in of]
            form = "TYPED" if "datatype[]" in roles else "VARYING" if "count[]" in roles else \
                   "EQUAL" if side in COLLECTIVES[self.family] else "ONE"
            values = [f".{SIDE_FIELDS[p.full_role]} = " +
                      (f"(void *){p.name}" if p.role == "buffer" else f"(pw_displs){{{p.name}, true}}" if p.full_role == "aint[]" else value(p))
                      for p in of]
            if of:
                out.append(f".{side} = {{{', '.join([f'.form = PW_SIDE_{form}', *values] + ['.computes = true'] * computes)}}}")
        return ", ".join(out + [".root = root" for p in self.params if p.role == "rank"])

    def question_at_once(self):
        """The question that knows the calls that a thread remembers (is_native.h of strategy); None: there is none."""
        if self.kind not in ("blocking", "nonblocking"):
            return None
        return " && ".join(f"pw_is_left_again({message})" for message in self.messages)

    def check(self):
        if self.light and (self.action != "hook" or self.kind or self.condition or self.large):
            raise ApiError(f"{self.name}: only a hook with nothing but its action can be light")
        if self.caller and not self.light:
            raise ApiError(f"{self.name}: only a light hook gets its caller")
        if self.kind and (self.action != "hook" or not self.native_question(False)):
            raise ApiError(f"{self.name}: a kind is for hooked calls with buffers")
        if self.action != "hook" or not self.large:
            return
        for p in self.params:
            if p.is_view and p.direction != "in":
                raise ApiError(f"{self.name}: arrays of counts that a call writes are not described")


def version(text):
    m = re.fullmatch(r"(\d+)\.(\d+)", text)
    if not m:
        raise ApiError(f"'{text}' is not a version")
    return int(m[1]), int(m[2])


def parse(path, known):
    """The calls of a file; `known`, by name, gets them, too."""
    calls = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            if not line[0].isspace():
                calls.append(Call(words, known))
                if calls[-1].name in known:
                    raise ApiError(f"{calls[-1].name} is described twice")
                known[calls[-1].name] = calls[-1]
            elif not calls or len(words) != 3:
                raise ApiError("expected DIRECTION ROLE NAME below a call")
            else:
                calls[-1].params.append(Param(*words))
        except ApiError as e:
            sys.exit(f"{path}:{number}: {e}")
    try:
        for call in calls:
            call.check()
    except ApiError as e:
        sys.exit(f"{path}: {e}")
    return calls


def guarded(since, text, large=0):
    """Text for builds whose mpi.h has the call, in its _c form or not; everything since 2.x is taken for granted."""
    macro = "PW_MPI_SINCE" if large else "PW_MPI_HAS"
    return text if since < (3, 0) else f"#if {macro}({since[0]}, {since[1]})\n{text}#endif\n"


def next_header(calls):
    out = [BANNER, "#ifndef PW_RUNTIME_API_NEXT_H\n#define PW_RUNTIME_API_NEXT_H\n\n",
           '#include "runtime/mpi/counts.h"\n#include "runtime/mpi/mpi_compat.h"\n\n#include <stdbool.h>\n\n']
    forms = [f for c in calls if c.action != "pass" for f in c.forms()]
    for f in forms:
        out.append(guarded(f.since, f"typedef {f.call.returns} pw_fn_{f.symbol}({f.types()});\n", f.large))
    out.append("\ntypedef struct pw_next_table {\n")
    for f in forms:
        out.append(guarded(f.since, f"    pw_fn_{f.symbol} *{f.symbol};\n", f.large))
    out.append("} pw_next_table;\n\n/* Written once, before any wrapper reads it (runtime/mpi/entry/gate.c). */\n"
               "extern __attribute__((visibility(\"hidden\"))) pw_next_table pw_next;\n\n"
               "/* Fills the table through `resolve`. A call that the MPI below lacks gets a stand-in that reports. */\n"
               "void pw_next_load(void *(*resolve)(const char *symbol));\n"
               "/* Calls `fn` with each name in the table, and with those of Fortran's commits. */\n"
               "void pw_next_each(void (*fn)(void *arg, const char *symbol), void *arg);\n"
               "/* The names that this library exports, without those for large counts; NULL ends the list. */\n"
               "extern __attribute__((visibility(\"hidden\"))) const char *const pw_exported[];\n"
           "/* Of these, the calls that start, complete or free operations, or end or change what these belong to. */\n"
           "extern __attribute__((visibility(\"hidden\"))) const char *const pw_completing[];\n\n"
               "/* Calls with two forms: the next function of either, from wide arguments that fit it. */\n")
    out += [dispatcher(c) for c in calls if c.action != "pass" and c.large]
    out.append("\n#endif\n")
    return "".join(out)


def dispatcher(call):
    wide = ", ".join(p.declare_for_hook(1) for p in call.params)
    if any(p.widens and p.direction != "in" for p in call.params):
        return ""  # the wrapper, which has the caller's own variables, is the only one to call these
    small, large = (", ".join(p.from_wide(form) for p in call.params) for form in (0, 1))
    text = f"static inline int pw_call_{call.short}({wide}, bool large)\n{{\n"
    text += guarded(call.large, f"    if (large)\n        return pw_next.{call.name}_c({large});\n", 1)
    text += f"    (void)large;\n    return pw_next.{call.name}({small});\n}}\n\n"
    return guarded(call.since, text)


def is_completing(call):
    return call.action == "hook" and call.condition is not None


def next_source(calls):
    forms = [f for c in calls if c.action != "pass" for f in c.forms()]
    out = [BANNER, '#include "next.h"\n\n#include "runtime/mpi/entry/gate.h"\n\n#include <stddef.h>\n#include <string.h>\n\n'
           "pw_next_table pw_next;\n\n/* What stands in for calls that the MPI below lacks. */\n"]
    for f in forms:
        unused = "".join(f"    (void){p.name};\n" for p in f.call.params)
        out.append(guarded(f.since, f"static {f.call.returns} missing_{f.symbol}({f.params()})\n{{\n{unused}"
                                    f'    return pw_gate_missing("{f.symbol}");\n}}\n\n', f.large))
    out.append("typedef void any_function(void);\n\nstatic const struct {\n    const char *symbol;\n    size_t offset;\n"
               "    any_function *missing;\n} entries[] = {\n")
    for f in forms:
        out.append(guarded(f.since, f'    {{"{f.symbol}", offsetof(pw_next_table, {f.symbol}), '
                                    f"(any_function *)missing_{f.symbol}}},\n", f.large))
    out.append("""};

void pw_next_load(void *(*resolve)(const char *symbol))
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *found = resolve(entries[i].symbol);
        const void *function = found ? (const void *)&found : (const void *)&entries[i].missing;

        memcpy((char *)&pw_next + entries[i].offset, function, sizeof(void *));
    }
}

void pw_next_each(void (*fn)(void *arg, const char *symbol), void *arg)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        fn(arg, entries[i].symbol);
""" + "".join(f'    fn(arg, "{name}");\n' for name in FORTRAN_COMMITS) + "}\n")
    for name, names in ("exported", lambda c: c.action in EXPORTED), ("completing", is_completing):
        out.append(f"\nconst char *const pw_{name}[] = {{\n")
        out += [guarded(f.since, f'    "{f.symbol}",\n') for f in forms if names(f.call) and not f.large]
        out.append("    NULL,\n};\n")
    return "".join(out)


def hooks_header(calls):
    out = [BANNER, "#ifndef PW_RUNTIME_API_HOOKS_H\n#define PW_RUNTIME_API_HOOKS_H\n\n"
           '#include "runtime/mpi/counts.h"\n#include "runtime/mpi/entry/gate.h"\n#include "runtime/mpi/mpi_compat.h"\n\n']
    for c in (c for c in calls if c.action == "hook"):
        if c.light:
            caller = ", const void *caller" if c.caller else ""
            out.append(guarded(c.since, f"int pw_hook_{c.short}({Form(c, 0).params()}{caller});\n"))
            continue
        params = [p.declare_for_hook(1 if c.large else 0) for p in c.params]
        params += ["bool large"] if c.large else []
        out.append(guarded(c.since, f"pw_verdict pw_hook_{c.short}({', '.join(params + ['int *rc'])});\n"))
    out += [guarded(c.since, f"bool pw_is_native_{c.short}({params});\n") for c, params in asked_natives(calls)]
    out.append("\n#endif\n")
    return "".join(out)


def asked_natives(calls):
    """The questions of collectives (runtime/mpi/collective/is_native.h): each blocking call and its parameters as hooks have them."""
    return [(c, ", ".join(p.declare_for_hook(1) for p in c.until_comm)) for c in calls if c.kind == "collective" and c.blocking == c.short]


def natives_header(calls):
    """The functions, as a part of collective/is_native.c, where what they share is inlined into each of them."""
    return "".join([BANNER, *(guarded(c.since, f"""\
bool pw_is_native_{c.short}({params})
{{
    const sides s = {{{c.sides(lambda p: p.name)}}};

    return are_native(PW_{c.family}, &s, comm);
}}

""") for c, params in asked_natives(calls))])


def family_hook(call):
    """A function that calls the next one by what a struct of the family says, and the hook that fills in that struct."""
    if call.family in COLLECTIVES:
        struct, carry_out = "pw_collective", "pw_reduction_call" if any(p.role == "op" for p in call.params) else "pw_collective_call"
        more = {"comm": "way.comm", "info": "way.info", "request": "way.request", "op": "op", "rank": "root"}
        fields = [more[p.role] if p.role in more else f"{call.side_of(p)}.{SIDE_FIELDS[p.full_role]}" + ".at" * (p.full_role == "aint[]")
                  for p in call.params]
        roles = [p.role for p in call.params]
        mode = "BLOCKING" if "request" not in roles else "PERSISTENT" if "info" in roles else "NONBLOCKING"
        values = [f".family = PW_{call.family}", call.sides(lambda p: p.name), f".way.mode = PW_{mode}", ".way.large = large"]
        values += [f".{more[p.role]} = {p.name}" for p in call.params if p.role in more and p.role != "rank"]
        large = "way.large"
    else:
        struct, carry_out, writes, renamed = FAMILIES[call.family]
        fields, large = [renamed.get(p.name, p.name) for p in call.params], "large"
        values = [f".{field} = {'(void *)' * (p.role == 'buffer')}{p.name}" for field, p in zip(fields, call.params)]
        values += [f".{FLAGS[p.role]} = true" for p in call.params if p.role in FLAGS] + [".large = large"]
        values += [f".{writes} = true" for p in call.params if p.role == "buffer" and p.direction == "out"]
        values += [".together = true"] * call.short.endswith("_all")
    params = ", ".join([p.declare_for_hook(1) for p in call.params] + ["bool large", "int *rc"])
    arguments = ", ".join([f"c->{field}" for field in fields] + [f"c->{large}"])
    return guarded(call.since, f"""\
static int next_{call.short}(const {struct} *c)
{{
    return pw_call_{call.short}({arguments});
}}

pw_verdict pw_hook_{call.short}({params})
{{
    {struct} c = {{.next = next_{call.short}, {', '.join(values)}}};

    return {carry_out}(&c, rc);
}}

""")


def families_source(calls):
    return "".join([BANNER, '#include "hooks.h"\n#include "next.h"\n#include "runtime/mpi/collective/collective.h"\n'
                    '#include "runtime/mpi/io/internal.h"\n#include "runtime/mpi/one_sided/internal.h"\n\n',
                    *(family_hook(c) for c in calls if c.action == "hook" and c.family)])


def wrapper(f):
    """The exported function; what may send a call straight on comes before the rest, which is a function of its own."""
    call = f.call
    if call.kind:
        straight, first = call.native_question(f.large), call.question_at_once()
    else:
        straight, first = f"!{call.condition}" if call.condition else None, None
    if call.light:
        return guarded(f.since, light_wrapper(f), f.large)
    if not straight:
        return guarded(f.since, f"PW_EXPORT PW_SHORT int {f.symbol}({exported(f)})\n{gated_body(f)}\n", f.large)
    text = f"static PW_APART int gated_{f.symbol}({f.params()})\n{gated_body(f)}\n"
    # An inert library leaves all calls to MPI. This is asked before questions that are long, and after those that are short.
    if first or call.kind == "collective":
        straight = f"pw_gate_is_inert() || ({straight})"
    elif call.kind:
        straight = f"({straight}) || pw_gate_is_inert()"
    if first:
        text += f"static PW_APART int asked_{f.symbol}({f.params()})\n{asking_body(f, straight, 'gated')}\n"
        straight = first
    text += f"PW_EXPORT int {f.symbol}({exported(f, bool(first))})\n{asking_body(f, straight, 'asked' if first else 'gated')}\n"
    return guarded(f.since, text, f.large)


def asking_body(f, straight, otherwise):
    """Sends the call straight on to MPI if a question says so."""
    arguments = ", ".join(p.name for p in f.call.params)
    packs = f.call.kind == "packing"
    natively = f"pw_next.{f.symbol}({arguments})"
    return f"""\
{{
{packing_at_once(f) if packs else ""}    if ({straight})
        return {f"pw_pack_left(comm, {natively})" if packs else natively};
    return {otherwise}_{f.symbol}({arguments});
}}
"""


def packing_at_once(f):
    """Packs or unpacks what is copied without a kernel (runtime/mpi/p2p/pack.h)."""
    at, = (p.name for p in f.call.params if p.direction == "inout")
    arguments = ", ".join(f"{at} ? *{at} : -1" if p.name == at else p.name for p in f.call.params)
    return f"""\
    int64_t bytes = pw_{f.call.short}_plain({arguments});

    if (bytes) {{
        *{at} = ({ROLES["bytes"][f.large]})(*{at} + bytes);
        return MPI_SUCCESS;
    }}
"""


def exported(f, stays=False):
    """The parameters as mpi.h declares them: not every mpi.h has lists of requests const. `stays`: those beyond the sixth, which
    the program has passed on the stack, are to stay there for the next function."""
    declared = [p.declare(f.large) for p in f.call.params]
    if stays:
        declared[6:] = [re.sub(r"(\w+)$", r"PW_STACKED \1", p) for p in declared[6:]]
    return (", ".join(declared) or "void").replace("const MPI_Request *", "PW_MPI_CONST_REQUESTS MPI_Request *")


def light_wrapper(f):
    """Calls the hook without entering the gate, unless the gate is closed or a wrapped call is under way."""
    names = ", ".join(p.name for p in f.call.params)
    params, args, here = f.params(), names, names
    if f.call.caller:
        params, args, here = params + ", const void *caller", names + ", caller", names + ", __builtin_return_address(0)"
    return f"""\
static PW_APART int gated_{f.symbol}({params})
{{
    int rc;

    if (!pw_gate_enter())
        return pw_next.{f.symbol}({names});
    rc = pw_hook_{f.call.short}({args});
    pw_pending_pass();
    pw_gate_leave();
    return rc;
}}

PW_EXPORT int {f.symbol}({exported(f)})
{{
    return pw_gate_is_open() ? pw_hook_{f.call.short}({here}) : gated_{f.symbol}({here});
}}

"""


def flushing_wrapper(f):
    """Starts deferred sends and goes on to MPI."""
    names = ", ".join(p.name for p in f.call.params)
    return f"""\
PW_EXPORT int {f.symbol}({exported(f)})
{{
    pw_gate_flush();
    return pw_next.{f.symbol}({names});
}}

"""


def gated_body(f):
    """Gate, hook, else the next function with the caller's own arguments."""
    call, args, widen, narrow = f.call, [], "", ""
    for p in call.params:
        args.append(p.for_hook(f.large))
        if p.widens and not p.array and not f.large and p.direction != "in":
            wide, small = ROLES[p.role][1], ROLES[p.role][0]
            widen += f"    {wide} wide_{p.name} = {p.name} ? *{p.name} : -1;\n"
            narrow += f"    if (verdict == PW_DONE)\n        *{p.name} = ({small})wide_{p.name};\n"
            args[-1] = f"&wide_{p.name}"
    args += [str(bool(f.large)).lower()] if call.large else []
    straight = f"pw_next.{f.symbol}({', '.join(p.name for p in call.params)})"
    again = call.condition is not None  # it may complete operations of ours, or give back memory
    # These do not wait for other processes, and add deferred sends.
    defers = call.kind == "nonblocking"
    enter = "enter_again(&within)" if again else "enter_deferring()" if defers else "enter()"
    # What calls with a request start is over in another call, and so is what one-sided transfers start. Making a persistent
    # request starts nothing; a persistent collective chooses its way then, once.
    makes = call.name.endswith("_init")
    posts = call.short in ("Start", "Startall") or (
        any((p.role == "request" and p.direction == "out") or p.role == "win" for p in call.params) and not again and not makes)
    leave = f"leave_again(within, {str(posts).lower()})" if again else "leave_as(true)" if posts else "leave()"
    hooked = call.action == "hook"
    text = "{\n" + ("    pw_verdict verdict;\n" if hooked else "") + "    int rc;\n" + ("    bool within;\n\n" if again else "\n")
    text += f"    if (!pw_gate_{enter})\n        return {straight};\n"
    if makes and call.family:
        text += "    pw_gate_judged |= PW_GATE_LASTING;\n"
    if widen:
        text += f"{widen}\n"
    if call.action == "miss":
        text += "".join(f"    pw_loopback_miss(comm, {p.name});\n" for p in call.params if p.role == "rank")
    if hooked:
        text += f"    verdict = pw_hook_{call.short}({', '.join(args + ['&rc'])});\n{narrow}"
        text += f"    if (verdict != PW_DONE) {{\n        pw_gate_pass();\n        rc = {straight};\n    }}\n"
    else:
        text += f"    pw_gate_pass();\n    rc = {straight};\n"
    text += "    if (!within)\n        pw_pending_pass();\n" if again else "    pw_pending_pass();\n"
    return text + f"    pw_gate_{leave};\n    return rc;\n}}\n"


# Fortran's MPI_Type_commit, which a preloaded library has before the bindings. Where bindings that call PMPI_Type_commit are loaded late, as
# by Python, they may be all that commits types, so by then at the latest their calls must come here.
FORTRAN_COMMITS = ("mpi_type_commit_", "mpi_type_commit_f08_")


def fortran_commits():
    text = """
#ifdef OPEN_MPI
typedef void fortran_commit(MPI_Fint *type, MPI_Fint *error);

/* Handles of an MPI that is out of reach cannot be converted, so an inert library leaves the call to the bindings. */
static void leave_to_bindings(const char *name, MPI_Fint *type, MPI_Fint *error, const void *caller)
{
    Dl_info in;
    fortran_commit *next = dladdr(caller, &in) ? (fortran_commit *)(uintptr_t)pw_locate_behind(in.dli_fname, name) : NULL;

    if (next)
        next(type, error);
    else if (error)
        *error = MPI_ERR_INTERN;
}

static void commit_for_fortran(const char *name, MPI_Fint *type, MPI_Fint *error, const void *caller)
{
    MPI_Datatype datatype;
    int rc;

    if (!pw_gate_is_open() && pw_gate_enter()) /* this may be the first call, which makes the MPI visible */
        pw_gate_leave();
    if (pw_gate_is_inert()) {
        leave_to_bindings(name, type, error, caller);
        return;
    }
    pw_fortran_redirect();
    datatype = PMPI_Type_f2c(*type);
    rc = pw_gate_is_open() ? pw_hook_Type_commit(&datatype, caller) : gated_MPI_Type_commit(&datatype, caller);
    if (error)
        *error = rc;
}
"""
    for name in FORTRAN_COMMITS:
        text += f"""
PW_EXPORT void {name}(MPI_Fint *type, MPI_Fint *error);
PW_EXPORT void {name}(MPI_Fint *type, MPI_Fint *error)
{{
    commit_for_fortran("{name}", type, error, __builtin_return_address(0));
}}
"""
    return text + "#endif\n"


def wrappers_source(calls):
    out = [BANNER, '#include "hooks.h"\n#include "next.h"\n#include "runtime/mpi/entry/fortran.h"\n#include "runtime/mpi/entry/gate.h"\n#include "runtime/mpi/entry/locate.h"\n#include "runtime/mpi/requests/pending.h"\n'
           '#include "runtime/mpi/types/registry.h"\n#include "runtime/mpi/one_sided/rma.h"\n#include "runtime/mpi/one_sided/is_native.h"\n#include "runtime/mpi/requests/loopback.h"\n'
           '#include "runtime/mpi/p2p/pack.h"\n#include "runtime/engine/gpu/memory.h"\n#include "runtime/mpi/strategy/is_native.h"\n#include "runtime/exchange/direct.h"\n\n#include <dlfcn.h>\n\n'
           '#define PW_EXPORT __attribute__((visibility("default")))\n'
           "/* These, which are most of the code, are compiled to be short, and lie apart from the ways of native calls. */\n"
           "#define PW_SHORT __attribute__((cold))\n"
           "/* So that the way of native calls needs no frame. */\n"
           "#define PW_APART PW_SHORT __attribute__((noinline))\n"
           "/* Marks a parameter that the caller has passed on the stack, so that GCC leaves it there for the call of the next function. */\n"
           "#if defined __x86_64__ && !defined __clang__\n#define PW_STACKED volatile\n#else\n#define PW_STACKED\n#endif\n\n"]
    out += [wrapper(f) for c in calls if c.action in ("hook", "settle", "miss") for f in c.forms()]
    out += [guarded(f.since, flushing_wrapper(f), f.large) for c in calls if c.action == "flush" for f in c.forms()]
    return "".join(out) + fortran_commits()


def exports_map(calls):
    """What is exported: the MPI entry points, functions of others that are taken the place of (runtime/mpi/entry/single_copy.c,
    runtime/mpi/strategy/pipeline.c), Fortran's MPI_Type_commit, and what `packwright measure`
    (runtime/mpi/strategy/strategy.c) and libpackwright-mpi (runtime/mpi/strategy/prepare.c) call."""
    others = ("process_vm_readv", "mpi_type_commit_*", "ucp_dt_create_generic",
              "packwright_force_strategy", "packwright_network_of", "packwright_prepare_type")
    symbols = "".join(f"        {name};\n" for name in (*others, *(f.symbol for c in calls if c.action in EXPORTED for f in c.forms())))
    return f"{{\n    global:\n{symbols}    local:\n        *;\n}};\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    known = {}
    calls = [call for file in sys.argv[2:] for call in parse(Path(file), known)]
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, make in (("next.h", next_header), ("next.c", next_source), ("hooks.h", hooks_header),
                       ("natives.h", natives_header), ("families.c", families_source), ("wrappers.c", wrappers_source), ("exports.map", exports_map)):
        (out / name).write_text(make(calls))


if __name__ == "__main__":
    main()
