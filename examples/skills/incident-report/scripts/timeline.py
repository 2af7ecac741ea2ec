#!/usr/bin/env python3
"""Merges notes with timestamps from several people and systems into one timeline in UTC, and measures its phases.

Needs Python 3.9 or later and nothing else.
"""

import argparse
import datetime
import os
import re
import sys
import zoneinfo

TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]+)?\s?(Z\b|UTC\b|GMT\b|[+-][0-9]{2}:?[0-9]{2}\b)?\s+(\S.*)"
)
MARKS = ("start", "detected", "declared", "mitigated", "resolved")
MARK = re.compile(r"\s*#(" + "|".join(MARKS) + r")\b")
PHASES = (
    ("start", "detected", "to detect"),
    ("detected", "declared", "to declare"),
    ("detected", "mitigated", "to mitigate, once detected"),
    ("start", "mitigated", "of harm to users"),
    ("start", "resolved", "in all"),
)


class Refused(Exception):
    """The notes cannot be merged; the text names file and line."""


def read_notes(source, lines, zone):
    """The entries of one file. A line that begins with white space goes on with the entry above it."""
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t" and entries:
            entries[-1]["text"] += " " + line.strip()
            continue
        entries.append({"source": source, **read_line(line.strip(), f"{source}, line {number}", zone)})
    return entries


def read_line(line, place, zone):
    match = TIME.fullmatch(line)
    if not match:
        raise Refused(f"{place}: wanted YYYY-MM-DD HH:MM[:SS] [offset] text, found \"{line[:60]}\"")
    day, clock, offset, text = match.groups()
    try:
        local = datetime.datetime.fromisoformat(f"{day}T{clock}")
    except ValueError as error:
        raise Refused(f"{place}: {error}") from error
    if offset is None and zone is None:
        raise Refused(f"{place}: the time has no offset; say which zone it is in with --zone {place.split(',')[0]}=Area/City")
    return {"at": to_utc(local, offset, zone, place), "text": text}


def to_utc(local, offset, zone, place):
    if offset in ("Z", "UTC", "GMT"):
        return local.replace(tzinfo=datetime.timezone.utc)
    if offset is not None:
        digits = offset.replace(":", "")
        minutes = int(digits[1:3]) * 60 + int(digits[3:5])
        delta = datetime.timedelta(minutes=-minutes if digits[0] == "-" else minutes)
        return (local - delta).replace(tzinfo=datetime.timezone.utc)
    first = local.replace(tzinfo=zone, fold=0).astimezone(datetime.timezone.utc)
    second = local.replace(tzinfo=zone, fold=1).astimezone(datetime.timezone.utc)
    if first != second:
        raise Refused(f"{place}: at that time the clocks of {zone.key} were changed; write the offset")
    return first


def marks_of(entries):
    """When each mark was set. The text loses the mark; a mark may be set once only."""
    marks = {}
    for entry in entries:
        for mark in MARK.findall(entry["text"]):
            if mark in marks:
                raise Refused(f"#{mark} is set twice: at {shown(marks[mark])} and at {shown(entry['at'])}")
            marks[mark] = entry["at"]
    times = [(mark, marks[mark]) for mark in MARKS if mark in marks]
    for (before, earlier), (after, later) in zip(times, times[1:]):
        if later < earlier:
            raise Refused(f"#{after} at {shown(later)} is before #{before} at {shown(earlier)}")
    return marks


def shown(time):
    return time.strftime("%Y-%m-%d %H:%M:%S")


def span(delta):
    minutes, seconds = divmod(int(delta.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def markdown(entries, marks, gap):
    lines = ["| UTC | Source | Event |", "| --- | --- | --- |"]
    before = None
    for entry in entries:
        if before and entry["at"] - before >= gap:
            lines.append(f"| | | *{span(entry['at'] - before)} without an entry* |")
        before = entry["at"]
        text = MARK.sub(r" **(\1)**", entry["text"].replace("|", "\\|"))
        lines.append(f"| {shown(entry['at'])} | {entry['source']} | {text} |")
    phases = [f"| {name} | {span(marks[end] - marks[begin])} |" for begin, end, name in PHASES if begin in marks and end in marks]
    if phases:
        lines += ["", "| Phase | Time |", "| --- | --- |", *phases]
    missing = [f"#{mark}" for mark in MARKS if mark not in marks]
    if missing:
        lines += ["", "Not marked: " + ", ".join(missing) + "."]
    return "\n".join(lines)


def zones_of(pairs):
    zones = {}
    for pair in pairs:
        source, _, key = pair.rpartition("=")
        try:
            zones[source] = zoneinfo.ZoneInfo(key)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise Refused(f"there is no time zone \"{key}\" (or this machine has no time zone data)") from None
    return zones


def arguments(argv):
    parser = argparse.ArgumentParser(
        description="Merge notes into one timeline in UTC. One entry per line: YYYY-MM-DD HH:MM[:SS] [Z or +HH:MM] text",
        epilog="Marks in the text set the phases: " + " ".join(f"#{mark}" for mark in MARKS),
    )
    parser.add_argument("file", nargs="+", help="notes; the file's name without ending becomes the source")
    parser.add_argument("--zone", action="append", default=[], metavar="[SOURCE=]AREA/CITY", help="for times without an offset, of one source or of all")
    parser.add_argument("--gap", type=int, default=15, metavar="MINUTES", help="point out silences of this length (default 15)")
    return parser.parse_args(argv)


def merge(chosen):
    zones, entries = zones_of(chosen.zone), []
    for path in chosen.file:
        source = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8-sig") as lines:
            entries += read_notes(source, lines, zones.get(source, zones.get("")))
    if not entries:
        raise Refused("the files hold no entry")
    entries.sort(key=lambda entry: entry["at"])
    return markdown(entries, marks_of(entries), datetime.timedelta(minutes=chosen.gap))


def main(argv=None):
    chosen = arguments(argv)
    try:
        print(merge(chosen))
    except (OSError, UnicodeDecodeError, Refused) as error:
        print(f"timeline.py: cannot merge the notes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
