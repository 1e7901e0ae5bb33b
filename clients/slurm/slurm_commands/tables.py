"""Columns of squeue, sacct and sinfo: of a fixed width, or parted by a bar."""
import re


def by_percent(text, letters):
    """The fields of `%.8i %t|`, (text before, right, width, letter), and the text behind them."""
    fields, at = [], 0
    for match in re.finditer(r"%(\.?)(\d*)([A-Za-z])", text):
        if match[3] not in letters:
            continue
        width = int(match[2]) if match[2] else 0
        fields.append((text[at:match.start()], bool(match[1]), width, match[3]))
        at = match.end()
    return fields, text[at:]


def cell(text, width, right):
    if not width:
        return text
    text = text[:width]
    return text.rjust(width) if right else text.ljust(width)


def percent_line(fields, tail, value_of):
    return "".join(before + cell(value_of(letter), width, right)
                   for before, right, width, letter in fields) + tail
