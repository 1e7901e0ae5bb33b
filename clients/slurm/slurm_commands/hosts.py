"""Lists of hosts, `a[1-3,07],b`, and their names."""
import re

from .options import Usage


def names(text):
    """`a[1-3,07],b` is a1 a2 a3 a07 b."""
    found_hosts = []
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?[^,\[\]]*", text):
        found = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not found:
            found_hosts.append(part)
            continue
        for piece in found[2].split(","):
            low, _, high = piece.partition("-")
            if not (low.isdigit() and (high or low).isdigit()):
                raise Usage("Invalid hostlist: %s" % text)
            found_hosts += ["%s%s%s" % (found[1], str(number).zfill(len(low)), found[3])
                            for number in range(int(low), int(high or low) + 1)]
    return found_hosts


def shortest(hosts):
    """The shortest text of these, in their order: `a[1-3],b`."""
    parts = []  # [prefix, [(text, number)]]
    for name in hosts:
        stem, digits = re.fullmatch(r"(.*?)(\d*)", name).groups()
        if digits and parts and parts[-1][0] == stem and parts[-1][1]:
            parts[-1][1].append(digits)
        else:
            parts.append((stem, [digits] if digits else []))
    texts = []
    for stem, numbers in parts:
        runs = []
        for digits in numbers:
            last = runs[-1][-1] if runs else None
            if last and len(last) == len(digits) and int(digits) == int(last) + 1:
                runs[-1] = [runs[-1][0], digits]
            else:
                runs.append([digits])
        text = ",".join("-".join(run) for run in runs)
        texts.append(stem + ("[%s]" % text if len(numbers) > 1 else text))
    return ",".join(texts)
