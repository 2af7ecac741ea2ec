#!/usr/bin/env python3
"""Profiles a CSV file: per column the type, what is missing, what is distinct, the range, and what looks wrong.

Needs Python 3.9 or later and nothing else. Reads the file once, a row at a time; memory is bounded by --distinct.
"""

import argparse
import csv
import datetime
import io
import itertools
import json
import math
import re
import sys
from collections import Counter

MISSING = ("", "na", "n/a", "nan", "null", "none", "nil", "-", "?", "#n/a")
INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]{1,3}([.,' ][0-9]{3})*[.,][0-9]+|[+-]?[0-9]{1,3}([.,' ][0-9]{3})+")
LEADING_ZERO = re.compile(r"0[0-9]+")
ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
OTHER_DATE = re.compile(r"([0-9]{1,4})([./-])([0-9]{1,2})\2([0-9]{1,4})")
BOOLEANS = {"true", "false", "yes", "no", "y", "n", "t", "f"}
TYPES = ("integer", "number", "boolean", "date", "datetime", "text")
DELIMITERS = ",;\t|"


class Refused(Exception):
    """The file cannot be profiled; the text says why."""


class Column:
    """What was seen in one column, in bounded memory."""

    def __init__(self, name, limit, missing_words):
        self.name = name
        self.limit = limit
        self.missing_words = missing_words
        self.missing = Counter()
        self.types = Counter()
        self.values = Counter()
        self.overflow = False
        self.padded = 0
        self.leading_zeros = 0
        self.comma_numbers = 0
        self.other_dates = 0
        self.dates_day_first = 0
        self.dates_month_first = 0
        self.impossible_dates = 0
        self.bad_characters = 0
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0
        self.low = None
        self.high = None
        self.first_text = None
        self.last_text = None
        self.shortest = None
        self.longest = 0

    def add(self, raw):
        value = raw.strip()
        if value != raw:
            self.padded += 1
        if value.lower() in self.missing_words:
            self.missing[value] += 1
            return
        if "\ufffd" in value:
            self.bad_characters += 1
        kind = type_of(value)
        self.types[kind] += 1
        self._remember(value)
        self._measure(value, kind)
        self._suspect(value, kind)

    def _remember(self, value):
        if value in self.values or len(self.values) < self.limit:
            self.values[value] += 1
        else:
            self.overflow = True

    def _measure(self, value, kind):
        self.shortest = len(value) if self.shortest is None else min(self.shortest, len(value))
        self.longest = max(self.longest, len(value))
        if kind in ("date", "datetime"):
            self.first_text = value if self.first_text is None else min(self.first_text, value)
            self.last_text = value if self.last_text is None else max(self.last_text, value)
        if kind not in ("integer", "number"):
            return
        number = float(value)
        if not math.isfinite(number):
            return
        # Welford: one pass, and no loss where the mean is large and the spread small.
        self.count += 1
        delta = number - self.mean
        self.mean += delta / self.count
        self.squares += delta * (number - self.mean)
        self.low = number if self.low is None else min(self.low, number)
        self.high = number if self.high is None else max(self.high, number)

    def _suspect(self, value, kind):
        if kind == "integer" and LEADING_ZERO.fullmatch(value):
            self.leading_zeros += 1
        if kind != "text":
            return
        if COMMA_NUMBER.fullmatch(value):
            self.comma_numbers += 1
            return
        date = OTHER_DATE.fullmatch(value)
        if ISO_DATE.match(value):
            self.impossible_dates += 1
        elif date:
            self.other_dates += 1
            self.dates_day_first += 12 < int(date[1]) <= 31
            self.dates_month_first += 12 < int(date[3]) <= 31

    def summary(self, rows):
        present = sum(self.types.values())
        missing = sum(self.missing.values())
        kind = self.kind()
        result = {
            "name": self.name,
            "type": kind,
            "missing": missing,
            "missing_share": round(missing / rows, 4) if rows else 0.0,
            "distinct": len(self.values),
            "distinct_is_exact": not self.overflow,
            "unique": present > 0 and not self.overflow and len(self.values) == present,
            "top": [[value, times] for value, times in self.values.most_common(5)],
            "length": [self.shortest or 0, self.longest],
        }
        if kind in ("integer", "number") and self.count:
            result["min"], result["max"] = self.low, self.high
            result["mean"] = self.mean
            result["deviation"] = math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0
        if kind in ("date", "datetime"):
            result["min"], result["max"] = self.first_text, self.last_text
        result["warnings"] = list(self.warnings(rows, kind))
        return result

    def kind(self):
        """The narrowest type that nearly all values have; the others are named in a warning."""
        present = sum(self.types.values())
        if present == 0:
            return "empty"
        counts = dict(self.types)
        numeric = counts.get("integer", 0) + counts.get("number", 0)
        if counts.get("number", 0) and numeric >= 0.95 * present:
            return "number"
        timed = counts.get("date", 0) + counts.get("datetime", 0)
        if counts.get("datetime", 0) and timed >= 0.95 * present:
            return "datetime"
        kind, times = max(counts.items(), key=lambda pair: (pair[1], -TYPES.index(pair[0])))
        return kind if times >= 0.95 * present else "text"

    def warnings(self, rows, kind):
        return [*self._type_warnings(kind), *self._value_warnings(rows, kind)]

    def _type_warnings(self, kind):
        present = sum(self.types.values())
        fitting = {"number": ("integer", "number"), "datetime": ("date", "datetime")}.get(kind, (kind,))
        odd = present - sum(self.types[name] for name in fitting)
        # "no" among country codes is no boolean.
        mixed = Counter({"text": self.types["text"] + self.types["boolean"]})
        mixed.update({name: times for name, times in self.types.items() if name not in ("text", "boolean")})
        if kind not in ("text", "empty") and odd:
            yield f"not of type {kind}: {odd} of {present}"
        if kind == "text" and len(mixed) > 1:
            yield "mixed types: " + ", ".join(f"{name} {times}" for name, times in mixed.most_common() if times)
        if self.leading_zeros:
            yield f"whole numbers with leading zeros: {self.leading_zeros}; an identifier, keep it as text"
        if kind in ("integer", "number") and self.high is not None and max(abs(self.low), abs(self.high)) > 2**53:
            yield "numbers beyond 2^53: they lose digits in a spreadsheet and in JSON"
        if self.comma_numbers:
            yield f"numbers with separators, such as 1,234.5 or 1.234,5: {self.comma_numbers}"
        if self.impossible_dates:
            yield f"shaped like an ISO date, but not one: {self.impossible_dates}"
        if self.other_dates:
            yield f"dates that are not ISO 8601: {self.other_dates}; {self.date_order()}"

    def _value_warnings(self, rows, kind):
        present = sum(self.types.values())
        if len(self.missing) > 1:
            yield "missing is written in several ways: " + ", ".join(map(repr, sorted(self.missing)))
        elif self.missing and "" not in self.missing:
            yield f"counted as missing: {next(iter(self.missing))!r}; see --missing"
        if self.padded:
            yield f"spaces around the value: {self.padded}"
        if self.bad_characters:
            yield f"bytes that the encoding does not know: {self.bad_characters}; see --encoding"
        if rows > 1 and present == rows and len(self.values) == 1 and not self.overflow:
            yield "the same value in every row"
        folded = Counter(value.casefold() for value in self.values)
        twins = sum(1 for times in folded.values() if times > 1)
        if twins and kind == "text":
            yield f"values that differ from another only in upper and lower case: {twins}"

    def date_order(self):
        if self.dates_day_first and self.dates_month_first:
            return "day and month stand in both orders"
        if self.dates_day_first:
            return "the day stands first"
        if self.dates_month_first:
            return "the month stands first, or the year"
        return "the order of day and month cannot be told"


def type_of(value):
    if INTEGER.fullmatch(value):
        return "integer"
    if NUMBER.fullmatch(value):
        return "number"
    if value.lower() in BOOLEANS:
        return "boolean"
    if ISO_DATE.match(value):
        return iso_type(value)
    return "text"


def iso_type(value):
    try:
        if ISO_DATE.fullmatch(value):
            datetime.date.fromisoformat(value)
            return "date"
        datetime.datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", value))
        return "datetime"
    except ValueError:
        return "text"


def sniff(sample):
    """The delimiter that splits most lines into the same number of fields, more than one."""
    best = (0, 0, ",")
    for delimiter in DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(sample.splitlines(), delimiter=delimiter) if row)
        if not widths:
            continue
        width, times = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
        if width > 1:
            best = max(best, (times, width, delimiter))
    return best[2]


def open_text(path, encoding):
    if path == "-":
        sys.stdin.reconfigure(encoding=encoding, errors="replace", newline="")
        return sys.stdin
    # utf-8-sig reads files with and without a byte order mark, which spreadsheets write.
    return open(path, encoding=encoding, errors="replace", newline="")


def profile(stream, delimiter=None, header=True, limit=10_000, missing_words=MISSING):
    """The profile of a text stream, as plain data. The stream must be opened with newline=""."""
    sample = stream.read(65_536) + stream.readline()
    if not sample.strip():
        raise Refused("the file is empty")
    delimiter = delimiter or sniff(sample)
    reader = csv.reader(itertools.chain(io.StringIO(sample, newline=""), stream), delimiter=delimiter)
    first = first_row(reader)
    names = first if header else [f"column {index}" for index in range(1, len(first) + 1)]
    columns = [Column(name.strip(), limit, frozenset(missing_words)) for name in names]
    rows, blank, widths = 0, 0, Counter()
    pending = [] if header else [first]
    for row in chain_rows(pending, reader):
        if not row:
            blank += 1
            continue
        rows += 1
        if len(row) != len(columns):
            widths[len(row)] += 1
            continue
        for column, value in zip(columns, row):
            column.add(value)
    used = rows - sum(widths.values())
    return {
        "delimiter": delimiter,
        "rows": rows,
        "blank_lines": blank,
        "ragged_rows": {str(width): times for width, times in sorted(widths.items())},
        "warnings": table_warnings(names, widths, rows, header),
        "columns": [column.summary(used) for column in columns],
    }


def first_row(reader):
    """The first row with a field in it; spreadsheets like to begin with empty lines."""
    return next(row for row in reader if row)


def chain_rows(pending, reader):
    yield from pending
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise Refused(f"line {reader.line_num}: {error}") from error


def table_warnings(names, widths, rows, header):
    found = []
    if widths:
        shown = ", ".join(f"{times} with {width}" for width, times in sorted(widths.items()))
        found.append(f"{sum(widths.values())} of {rows} rows do not have {len(names)} fields ({shown}); left out below")
    if rows == 0:
        found.append("no rows below the header")
    if not header:
        return found
    twins = [name for name, times in Counter(name.strip().lower() for name in names).items() if times > 1]
    if twins:
        found.append("column names repeat: " + ", ".join(map(repr, twins)))
    if any(not name.strip() for name in names):
        found.append("a column has no name")
    if any(type_of(name.strip()) in ("integer", "number", "date", "datetime") for name in names if name.strip()):
        found.append("the header holds values: try --no-header")
    return found


def markdown(result, name):
    lines = [f"# Profile of {name}", ""]
    delimiter = {"\t": "tab"}.get(result["delimiter"], result["delimiter"])
    lines.append(f"{result['rows']} rows, {len(result['columns'])} columns, delimiter `{delimiter}`.")
    for warning in result["warnings"]:
        lines.append(f"- **{warning}**")
    lines += ["", "| Column | Type | Missing | Distinct | Range | Most frequent |", "| --- | --- | --: | --: | --- | --- |"]
    lines += [table_row(column) for column in result["columns"]]
    notes = [(column["name"], warning) for column in result["columns"] for warning in column["warnings"]]
    if notes:
        lines += ["", "## Look at these", ""]
        lines += [f"- `{cell(column)}`: {cell(warning)}" for column, warning in notes]
    return "\n".join(lines)


def table_row(column):
    share = f"{column['missing']} ({column['missing_share']:.1%})" if column["missing"] else "0"
    distinct = f"{column['distinct']}" if column["distinct_is_exact"] else f"over {column['distinct']}"
    distinct += " (unique)" if column["unique"] else ""
    top = "" if column["unique"] else ", ".join(f"{shorten(value)} ×{times}" for value, times in column["top"][:3])
    return "| " + " | ".join(cell(text) for text in (column["name"], column["type"], share, distinct, spread(column), top)) + " |"


def spread(column):
    if "mean" in column:
        low, high, mean, deviation = (plain(column[key]) for key in ("min", "max", "mean", "deviation"))
        return f"{low} to {high}, mean {mean}, deviation {deviation}"
    if "min" in column:
        return f"{column['min']} to {column['max']}"
    low, high = column["length"]
    return f"{low} to {high} characters" if high else ""


def plain(number):
    """All digits of a whole number, six of any other."""
    return str(int(number)) if number == int(number) and abs(number) <= 2**53 else f"{number:.6g}"


def shorten(text):
    return text if len(text) <= 24 else text[:23] + "…"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def arguments(argv):
    parser = argparse.ArgumentParser(description="Profile a CSV file: types, missing values, ranges, and what looks wrong.")
    parser.add_argument("file", help='the CSV file, or "-" for standard input')
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--delimiter", help='one character, or "tab"; found out if not given')
    parser.add_argument("--encoding", default="utf-8-sig", help="for example cp1252 (default: UTF-8, with or without mark)")
    parser.add_argument("--no-header", action="store_true", help="the first row holds values")
    parser.add_argument("--missing", help='words that mean "missing", with commas between, in place of the usual ones')
    parser.add_argument("--distinct", type=int, default=10_000, help="distinct values remembered per column (default 10000)")
    parser.add_argument("--max-field", type=int, default=1_048_576, help="longest field in characters (default 1048576)")
    chosen = parser.parse_args(argv)
    chosen.delimiter = "\t" if chosen.delimiter == "tab" else chosen.delimiter
    if chosen.delimiter is not None and len(chosen.delimiter) != 1:
        parser.error("--delimiter must be one character")
    if chosen.distinct < 1:
        parser.error("--distinct must be at least 1")
    words = MISSING if chosen.missing is None else chosen.missing.lower().split(",")
    chosen.missing = ["", *(word.strip() for word in words)]
    return chosen


def main(argv=None):
    chosen = arguments(argv)
    csv.field_size_limit(chosen.max_field)
    try:
        with open_text(chosen.file, chosen.encoding) as stream:
            result = profile(stream, chosen.delimiter, not chosen.no_header, chosen.distinct, chosen.missing)
    except (OSError, LookupError, csv.Error, Refused) as error:
        print(f"csv_profile.py: cannot profile \"{chosen.file}\": {error}", file=sys.stderr)
        return 1
    print(json.dumps(result, indent=2, ensure_ascii=False) if chosen.json else markdown(result, chosen.file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
