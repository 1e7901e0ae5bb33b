"""Columns of squeue, sacct and sinfo: of a fixed width, or parted by a bar."""
import os
import re
import string

from .options import Usage

USUAL_WIDTH = 20  # of a column of -O


def from_environment(command, options, names):
    """Options that were not typed, from variables as SQUEUE_FORMAT: `names` are of both."""
    for variable, name in names.items():
        value = os.environ.get("%s_%s" % (command.upper(), variable))
        if value is not None and name not in options:
            options[name], options[name + "*"] = value, [value]


def by_percent(text, columns):
    """The fields of `%.8i %t|`, (text before, right, width, column), and the text behind them. A
    `%all` is every column, parted by bars."""
    every = "|".join("%" + letter for letter in string.ascii_letters if letter in columns)
    text = text.replace("%all", every)
    fields, at = [], 0
    for match in re.finditer(r"%(\.?)(\d*)([A-Za-z])", text):
        if match[3] in columns:
            width = int(match[2]) if match[2] else 0
            fields.append((text[at:match.start()], bool(match[1]), width, columns[match[3]]))
            at = match.end()
    return fields, text[at:]


def by_name(command, text, columns):
    """The fields of `JobID:8,Name:.10x`, as by_percent has them."""
    fields, before = [], ""
    for part in text.split(","):
        name, _, form = part.strip().partition(":")
        dot, width, suffix = re.fullmatch(r"(\.?)(\d*)(.*)", form).groups()
        if name.lower() not in columns:
            raise Usage("%s: error: Invalid job format specification: %s" % (command, name))
        fields.append((before, bool(dot), int(width or USUAL_WIDTH), columns[name.lower()]))
        before = suffix
    return fields, before


def cell(text, width, right):
    if not width:
        return text
    text = text[:width]
    return text.rjust(width) if right else text.ljust(width)


def line(fields, tail, value_of):
    return "".join(before + cell(value_of(column), width, right)
                   for before, right, width, column in fields) + tail


def heads(fields, tail):
    return line(fields, tail, lambda column: column[0])


def values(fields, tail, row):
    """A column's value is a text, or a function of the row."""
    return line(fields, tail, lambda column: column[1] if isinstance(column[1], str)
                else column[1](row))


def by_letter_and_name(table):
    """Two maps of a table of (letter or "", names, head, value)."""
    letters = {letter: (head, value) for letter, _, head, value in table if letter}
    named = {name: (head, value) for _, names, head, value in table for name in names.split()}
    return letters, named


def seconds_of(command, options):
    """Of --iterate; 0 without it."""
    text = options.get("iterate", "0")
    if not text.isdigit() or ("iterate" in options and int(text) == 0):
        raise Usage("%s: error: invalid entry for --iterate=%s: it is a number of seconds"
                    % (command, text))
    return int(text)


def refuse_unknown(command, text, columns):
    for letter in re.findall(r"%\.?\d*([A-Za-z])", text.replace("%all", "")):
        if letter not in columns:
            raise Usage("%s: error: Invalid node format specification: %s" % (command, letter))
