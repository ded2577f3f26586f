"""What people read: the table of a run, and that of two of them."""
from turns import HAND, NATIVE, OURS, WORTH_A_LOOK

RESTLESS = 2  # a row whose native times differ by such a factor was measured beside something else


def seconds(value):
    """A time with three digits."""
    if value is None:
        return ""
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}" if value * factor < 1000 else f"{value * factor:.0f} {unit}"
    return f"{value * 1e6:.3g} us"


def ratio(row, way=OURS):
    each = row.ratios(way)
    return f"{row.ratio(way):.2f} ({min(each):.2f} to {max(each):.2f})" if each else ""


def number(value):
    return f"{value:.2f}" if value else ""


def counts(numbers):
    return ", ".join(f"{what} {n}" for what, n in numbers.items())


def markdown(head, lines):
    """A table whose columns stand below each other also where nobody renders it."""
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    put = lambda cells: "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"  # noqa: E731
    return "\n".join([put(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(put, lines)])


def forced_ways(rows):
    return list(dict.fromkeys(way for row in rows for way in row.times if way not in (NATIVE, OURS, HAND)))


def of_findings(findings):
    """The table, and below it what deserves a look."""
    forced = forced_ways(findings.rows)
    head = ["application", "MPI", "exchange", "native", "Packwright", "ratio", "processes", "first", "by hand", *forced, "ways taken", "left to the MPI"]
    lines = []
    for row in findings.rows:
        lines.append([row.application, row.mpi, row.name, seconds(row.median(NATIVE)), seconds(row.median(OURS)), ratio(row), number(row.between_processes()),
                      number(row.first_ratio()), seconds(row.median(HAND)), *(number(row.ratio(way)) for way in forced), counts(row.taken),
                      counts(row.left)])
    for application, mpi, reason in findings.skipped:
        lines.append([application, mpi, f"skipped: {reason}", *[""] * (len(head) - 3)])
    parts = [markdown(head, lines) if lines else "nothing was run"]
    slower = [row for row in findings.rows if row.ratio() and row.ratio() < WORTH_A_LOOK]
    if slower:
        parts.append(f"Slower than {WORTH_A_LOOK} with Packwright: {len(slower)} of {len(findings.rows)} rows\n" + "\n".join(
            f"  {row.ratio():.2f}  {row.mpi}: {row.application}: {row.name}" for row in sorted(slower, key=lambda row: row.ratio())))
    again = [row for row in findings.rows if row.once]
    if again:
        parts.append(f"Judged by more turns alone, since they were slower once: {len(again)} of {len(findings.rows)} rows")
    restless = [row for row in findings.rows if row.times.get(NATIVE) and max(row.times[NATIVE]) > RESTLESS * min(row.times[NATIVE])]
    if restless:
        parts.append(f"The machine was not quiet: native times of {len(restless)} of {len(findings.rows)} rows differ by more than a factor "
                     f"of {RESTLESS} between turns")
    if findings.faults():
        parts.append("WRONG:\n" + "\n".join(f"  {row.mpi}: {row.application}: {row.name}: {row.fault}" for row in findings.faults()))
    return "\n\n".join(parts)


def of_two(before, after):
    """What became of each row: how many times as fast it is with Packwright in both, and the quotient. A change is sure if the ratios
    of single turns do not overlap."""
    key = lambda row: (row.application, row.mpi, row.name)  # noqa: E731
    old, new = ({key(row): row for row in findings.rows} for findings in (before, after))
    lines, alone = [], []
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name), new.get(name)
        if not (a and b and a.ratio() and b.ratio()):
            alone.append(f"  {': '.join(name)}: " + ("only before" if a and a.ratio() else "only after" if b and b.ratio() else "in neither"))
            continue
        apart = min(a.ratios()) > max(b.ratios()) or max(a.ratios()) < min(b.ratios())
        lines.append((b.ratio() / a.ratio(), [*name, seconds(a.median(OURS)), seconds(b.median(OURS)), ratio(a), ratio(b),
                                              f"{b.ratio() / a.ratio():.2f}{'' if apart else ' ?'}"]))
    lines.sort(key=lambda line: line[0])
    head = ["application", "MPI", "exchange", "before", "after", "ratio before", "ratio after", "change"]
    parts = [markdown(head, [line for _, line in lines]) if lines else "no row is in both"]
    if alone:
        parts.append("Not in both:\n" + "\n".join(alone))
    return "\n\n".join(parts)
