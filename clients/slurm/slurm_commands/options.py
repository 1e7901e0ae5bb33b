"""Options as Slurm reads them: `-n 2`, `-n2`, `--ntasks=2`, `--ntasks 2`; the last one counts."""

import re


class Usage(Exception):
    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class Table:
    """`spec`: lines `LONG[=|?] [SHORT]`: = for options with a value, ? for those that may have one,
    which then stands in the same word (`--exclusive=user`); LONG names the option."""

    def __init__(self, command, spec, bad_code=1):
        self.command, self.bad_code = command, bad_code
        self.takes, self.short = {}, {}  # by its name: "=", "?" or ""; by its letter: the name
        for line in spec.split("\n"):
            long, *letters = line.split()
            name = long.rstrip("=?")
            self.takes[name] = long[len(name):]
            self.short.update(dict.fromkeys(letters, name))

    def read(self, arguments, stop_at_command=False):
        """(options by name, repeated ones as lists under name + '*', the other words)."""
        found, rest, words = {}, [], list(arguments)
        while words:
            word = words.pop(0)
            if word == "--":
                rest += words
                break
            if word == "-" or not word.startswith("-"):
                rest.append(word)
                if stop_at_command:
                    rest += words
                    break
            else:
                for name, value in self.options_of(word, words):
                    found[name] = value
                    found.setdefault(name + "*", []).append(value)
        return found, rest

    def options_of(self, word, words):
        """(name, value) of each option in the word; takes a value from the words behind it."""
        if word.startswith("--"):
            typed, equals, value = word[2:].partition("=")
            if typed == "help":
                self.help()
            name = self.whole(typed)
            if equals and not self.takes[name]:
                self.refuse("option '--%s' doesn't allow an argument" % name)
            if self.takes[name] == "=" and not equals:
                value = self.value_behind("--" + name, words)
            yield name, value
            return
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter not in self.short:
                self.refuse("invalid option -- '%s'" % letter)
            name, value = self.short[letter], ""
            if self.takes[name]:
                value, letters = letters, ""
            if self.takes[name] == "=" and not value:
                value = self.value_behind("-" + letter, words)
            yield name, value

    def whole(self, typed):
        """The option that is meant: by its name, or by the beginning of the name of one alone."""
        near = [name for name in self.takes if name.startswith(typed)]
        if typed in self.takes:
            return typed
        if len(near) != 1:
            self.refuse(("option '--%s' is ambiguous" if near else "unrecognized option '--%s'")
                        % typed)
        return near[0]

    def value_behind(self, option, words):
        if not words:
            self.refuse("option '%s' requires an argument" % option)
        return words.pop(0)

    def help(self):
        letters = {name: letter for letter, name in self.short.items()}
        print("Usage: %s [OPTIONS]... as Slurm has them, for berth. Options:" % self.command)
        for name, takes in sorted(self.takes.items()):
            value = {"=": "=VALUE", "?": "[=VALUE]", "": ""}[takes]
            print("  %-4s--%s%s" % ("-%s," % letters[name] if name in letters else "", name, value))
        raise SystemExit(0)

    def refuse(self, what):
        raise Usage('%s: %s\nTry "%s --help" for more information'
                    % (self.command, what, self.command), self.bad_code)


def listed(options, name):
    """The comma-separated values of all times that an option was given."""
    return [word for value in options.get(name + "*", []) for word in value.split(",") if word]


def seconds(text):
    """MINUTES, MINUTES:SECONDS, H:M:S, D-H, D-H:M, D-H:M:S; None for no limit."""
    if text.upper() in ("UNLIMITED", "INFINITE", "0"):
        return None
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not found:  # as 1:00:00:00, with a colon for the dash
        raise ValueError(text)
    days, *parts = (None if part is None else int(part) for part in found.groups())
    if days is None and parts[2] is None:  # minutes and seconds
        parts = [0] + parts[:2]
    hours, minutes, secs = (part or 0 for part in parts)
    return (((days or 0) * 24 + hours) * 60 + minutes) * 60 + secs


def mebibytes(text):
    """A size of Slurm's, in MiB unless it says otherwise."""
    units = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20}
    number, unit = text, 1
    if text and text[-1].upper() == "B":
        number = text[:-1]
    if number and number[-1].upper() in units:
        number, unit = number[:-1], units[number[-1].upper()]
    return max(1, int(float(number) * unit)) if float(number) > 0 else 0
