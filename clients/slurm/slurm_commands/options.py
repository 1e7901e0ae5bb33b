"""Options as Slurm reads them: `-n 2`, `-n2`, `--ntasks=2`, `--ntasks 2`; the last one counts."""
import getopt


class Usage(Exception):
    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class Table:
    """`spec`: lines `LONG[=] [SHORT]`, = for those with a value; LONG names the option."""

    def __init__(self, command, spec, bad_code=1):
        self.command, self.bad_code = command, bad_code
        self.long, self.short, self.names = [], "", {}
        for line in spec.split("\n"):
            words = line.split()
            for word in words[:1]:
                self.long.append(word)
                self.names["--" + word.rstrip("=")] = word.rstrip("=")
            for word in words[1:]:
                self.short += word + (":" if words[0].endswith("=") else "")
                self.names["-" + word] = words[0].rstrip("=")

    def read(self, arguments, stop_at_command=False):
        """(options by name, repeated ones as lists under name + '*', the other words)."""
        split = getopt.getopt if stop_at_command else getopt.gnu_getopt
        try:
            pairs, rest = split(arguments, self.short, self.long)
        except getopt.GetoptError as error:
            dash = "--" if len(error.opt) > 1 else "-"
            if "requires argument" in error.msg:
                what = "option '%s%s' requires an argument" % (dash, error.opt)
            else:
                what = "unrecognized option '%s%s'" % (dash, error.opt)
            raise Usage('%s: %s\nTry "%s --help" for more information'
                        % (self.command, what, self.command), self.bad_code)
        found = {}
        for key, value in pairs:
            name = self.names[key] if key in self.names else key.lstrip("-")
            found[name] = value
            found.setdefault(name + "*", []).append(value)
        return found, rest


def listed(options, name):
    """The comma-separated values of all times that an option was given."""
    return [word for value in options.get(name + "*", []) for word in value.split(",") if word]


def seconds(text):
    """MINUTES, MINUTES:SECONDS, H:M:S, D-H, D-H:M, D-H:M:S; None for no limit."""
    if text.upper() in ("UNLIMITED", "INFINITE", "0"):
        return None
    days, dash, rest = text.rpartition("-")
    try:
        parts = [int(part) for part in rest.split(":")]
        if dash:
            parts += [0] * (3 - len(parts))
            hours, minutes, secs = parts
            return ((int(days) * 24 + hours) * 60 + minutes) * 60 + secs
        if len(parts) == 3:
            return (parts[0] * 60 + parts[1]) * 60 + parts[2]
        return parts[0] * 60 + (parts[1] if len(parts) == 2 else 0)
    except ValueError:
        raise ValueError(text) from None


def mebibytes(text):
    """A size of Slurm's, in MiB unless it says otherwise."""
    units = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}
    number, unit = text, 1
    if text and text[-1].upper() == "B":
        number = text[:-1]
    if number and number[-1].upper() in units:
        number, unit = number[:-1], units[number[-1].upper()]
    return max(1, int(float(number) * unit)) if float(number) > 0 else 0
