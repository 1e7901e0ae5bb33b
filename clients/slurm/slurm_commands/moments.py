"""Points in time as Slurm's commands take them."""
import re
import time

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
HOURS = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp][Mm])?"
DATES = (r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
         r"(?P<month>\d\d)(?P<day>\d\d)(?P<year>\d\d)?",
         r"(?P<month>\d{1,2})[./](?P<day>\d{1,2})(?:[./](?P<year>\d{4}|\d\d))?")


def instant(text, now=None, is_ahead=False):
    """`14:30`, `2pm`-like `02:00PM`, `1128`, `11/28/26-14:30`, `2026-11-28T14:30`, `noon`,
    `tomorrow`, `now-3days`, `uts=1795892479`; ValueError. Ahead: a clock alone is the next time
    that it shows that, a day without its year the next such day."""
    now = time.time() if now is None else now
    word = text.strip().lower()
    later = re.fullmatch(r"now(?:([+-])(\d+)\s*([a-z]*))?", word)
    if later:
        unit = (later[3] or "s")
        if unit.rstrip("s") not in ("", "second", "minute", "hour", "day", "week", "sec", "min"):
            raise ValueError(text)
        return now + int((later[1] or "+") + (later[2] or "0")) * UNITS[unit[0]]
    if word.startswith("uts="):
        return float(word[4:])
    local = time.localtime(now)
    if word in ("today", "tomorrow"):
        return made(local[:2] + (local[2] + (word == "tomorrow"), 0, 0, 0), text)
    found = re.fullmatch(CLOCK, word)
    if found or word in HOURS:
        at = clock(found) if found else (HOURS[word], 0, 0)
        is_over = is_ahead and made(local[:3] + at, text) <= now
        return made(local[:2] + (local[2] + is_over,) + at, text)
    for date in DATES:
        found = re.fullmatch("%s(?:[-Tt ]%s)?" % (date, CLOCK), word)
        if found:
            year = int(found["year"] or local[0])
            year += 2000 if year < 100 else 0
            if is_ahead and not found["year"]:
                year += (int(found["month"]), int(found["day"])) < local[1:3]
            at = clock(found) if found["hour"] else (0, 0, 0)
            return made((year, int(found["month"]), int(found["day"])) + at, text)
    raise ValueError(text)


def clock(found):
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour, int(found["minute"]), int(found["second"] or 0)


def made(parts, text):
    """A day behind the month's last alone is let through: that of `tomorrow`."""
    year, month, day, hour, minute, second = parts
    if not (1 <= month <= 12 and 1 <= day <= 32 and hour < 24 and minute < 60 and second < 62):
        raise ValueError(text)
    return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
