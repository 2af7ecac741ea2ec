#!/usr/bin/env python3
"""Checks the headers that announce the end of an HTTP resource: Deprecation (RFC 9745), Sunset (RFC 8594), Link.

Needs Python 3.9 or later and nothing else.
"""

import argparse
import datetime
import re
import sys
import urllib.error
import urllib.request

HTTP_DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
STRUCTURED_DATE = re.compile(r"@(-?[0-9]{1,15})")
LINK = re.compile(r"<([^>]*)>((?:\s*;\s*[A-Za-z0-9!#$&+.^_`|~*-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+))*)")
REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


class Refused(Exception):
    """The headers cannot be had; the text says why."""


def check(headers, now, notice_days):
    """The findings, each as (level, text). Headers are (name, value) pairs in the order received."""
    values = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value.strip())
    if "deprecation" not in values and "sunset" not in values:
        return [("error", "neither Deprecation nor Sunset is there")]
    findings = []
    deprecated = read_one(values, "deprecation", deprecation_date, findings)
    sunset = read_one(values, "sunset", sunset_date, findings)
    relations = {rel for value in values.get("link", []) for rel in relations_of(value)}
    findings += compare(deprecated, sunset, now, notice_days)
    if not relations & {"deprecation", "sunset"}:
        findings.append(("warning", 'no Link with rel="deprecation" or rel="sunset": readers cannot find out what to do'))
    if "successor-version" not in relations:
        findings.append(("note", 'no Link with rel="successor-version": add it if one resource replaces this one'))
    return findings


def read_one(values, name, parse, findings):
    found = values.get(name, [])
    shown = name.capitalize()
    if not found:
        findings += [("warning", f"{shown} is missing")] if name == "deprecation" else [("note", f"{shown} is missing: no end is announced")]
        return None
    if len(found) > 1:
        findings.append(("error", f"{shown} is there {len(found)} times: a gateway adds its own?"))
    try:
        date = parse(found[0])
    except ValueError as error:
        findings.append(("error", f"{shown} is \"{found[0]}\": {error}"))
        return None
    findings.append(("ok", f"{shown}: {date:%Y-%m-%d %H:%M:%S} UTC"))
    return date


def deprecation_date(text):
    match = STRUCTURED_DATE.fullmatch(text)
    if match:
        try:
            return datetime.datetime.fromtimestamp(int(match[1]), datetime.timezone.utc)
        except (OverflowError, OSError, ValueError):
            raise ValueError("the date is out of range; it counts seconds, not milliseconds") from None
    if text.lower() == "true" or HTTP_DATE.fullmatch(text):
        raise ValueError("this is the form of an old draft; RFC 9745 wants @ and Unix seconds, such as @1735689600")
    raise ValueError("must be @ and Unix seconds, such as @1735689600")


def sunset_date(text):
    match = HTTP_DATE.fullmatch(text)
    if not match:
        raise ValueError("must be an HTTP date, such as Wed, 31 Dec 2025 23:59:59 GMT")
    day, month, year, *clock = match.groups()[1:]
    if month not in MONTHS:
        raise ValueError(f"there is no month \"{month}\"")
    date = datetime.datetime(int(year), MONTHS.index(month) + 1, int(day), *map(int, clock), tzinfo=datetime.timezone.utc)
    if DAYS[date.weekday()] != match[1]:
        raise ValueError(f"that day is a {DAYS[date.weekday()]}, not a {match[1]}")
    return date


def compare(deprecated, sunset, now, notice_days):
    if deprecated and sunset and sunset < deprecated:
        yield ("error", "Sunset is earlier than Deprecation, which RFC 9745 forbids")
    if sunset and sunset < now:
        yield ("warning", "Sunset has passed, and the resource still answers")
    elif sunset and deprecated:
        notice = (sunset - deprecated).days
        level = "warning" if notice < notice_days else "ok"
        yield (level, f"{notice} days of notice (wanted: {notice_days}), {(sunset - now).days} days left")
    if deprecated and deprecated > now:
        yield ("note", "Deprecation lies ahead: it is announced, not yet in force")


def relations_of(value):
    for link in LINK.finditer(value):
        rel = REL.search(link[2])
        if rel:
            yield from (rel[1] if rel[1] is not None else rel[2]).lower().split()


def headers_of(url, method, timeout):
    request = urllib.request.Request(url, method=method, headers={"User-Agent": "check_headers"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.headers.items()
    except urllib.error.HTTPError as error:
        # An error answer has headers as well, and they are to carry the announcement too.
        with error:
            return error.headers.items()
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from error


def headers_in(text):
    """From the output of curl -sI or curl -si: the last block of headers, since redirects print one each."""
    blocks, block = [], None
    for line in text.splitlines():
        if line.upper().startswith("HTTP/"):
            block = []
            blocks.append(block)
        elif not line.strip():
            block = None
        elif block is not None and ":" in line:
            name, value = line.split(":", 1)
            block.append((name.strip(), value))
    if not blocks:
        raise Refused("no status line such as HTTP/1.1 200 in the input")
    return blocks[-1]


def arguments(argv):
    parser = argparse.ArgumentParser(description="Check the Deprecation, Sunset and Link headers of one resource.")
    parser.add_argument("url", help='http(s) address, or "-" for the output of curl -sI on standard input')
    parser.add_argument("--method", default="GET", help="default GET; some gateways answer HEAD differently")
    parser.add_argument("--notice", type=int, default=180, metavar="DAYS", help="least time between the two dates (default 180)")
    parser.add_argument("--timeout", type=float, default=10, metavar="SECONDS", help="default 10")
    parser.epilog = "Exit status: 0 in order, 1 cannot be read, 2 wrong usage, 3 an error was found."
    chosen = parser.parse_args(argv)
    if chosen.url != "-" and not chosen.url.startswith(("http://", "https://")):
        parser.error("the address must begin with http:// or https://")
    return chosen


def main(argv=None):
    chosen = arguments(argv)
    try:
        headers = headers_in(sys.stdin.read()) if chosen.url == "-" else headers_of(chosen.url, chosen.method, chosen.timeout)
    except Refused as error:
        print(f"check_headers.py: cannot read the headers of \"{chosen.url}\": {error}", file=sys.stderr)
        return 1
    findings = check(headers, datetime.datetime.now(datetime.timezone.utc), chosen.notice)
    for level, text in findings:
        print(f"{level:8}{text}")
    return 3 if any(level == "error" for level, _ in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
