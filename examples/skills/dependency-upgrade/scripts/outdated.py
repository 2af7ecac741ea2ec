#!/usr/bin/env python3
"""Lists outdated dependencies of an npm, pip or Go project in one form, the riskiest jump first.

Needs Python 3.9 or later, and the project's own package manager unless --input is given.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

COMMANDS = {
    "npm": ["npm", "outdated", "--json", "--long"],
    "pip": [sys.executable, "-m", "pip", "list", "--outdated", "--format=json", "--disable-pip-version-check"],
    "go": ["go", "list", "-m", "-u", "-json", "all"],
}
MARKS = {
    "npm": ["package.json"],
    "pip": ["pyproject.toml", "requirements.txt", "setup.cfg", "setup.py"],
    "go": ["go.mod"],
}
# npm says by status 1 that something is outdated.
GOOD_STATUS = {"npm": (0, 1), "pip": (0,), "go": (0,)}
JUMPS = ("major", "0.x", "pre-release", "other", "minor", "patch")
VERSION = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(.*)")


class Refused(Exception):
    """The list cannot be made; the text says why."""


def jump(current, latest):
    """How far apart two versions are, by the rules of semantic versioning."""
    old, new = VERSION.fullmatch(current), VERSION.fullmatch(latest)
    if not old or not new:
        return "other"
    a, b = (tuple(int(part or 0) for part in match.groups()[:3]) for match in (old, new))
    if a == b:
        return "pre-release" if old[4] != new[4] else "other"
    if a[0] != b[0]:
        return "major"
    if a[0] == 0 and a[1] != b[1]:
        # Below 1.0.0 a new minor version may break.
        return "0.x"
    return "minor" if a[1] != b[1] else "patch"


def read_npm(text):
    rows = []
    for name, found in load(text or "{}").items():
        # In a workspace one name can stand for several places.
        for entry in found if isinstance(found, list) else [found]:
            rows.append(row(name, entry.get("current"), entry.get("wanted"), entry.get("latest"), entry.get("type", "")))
    return rows


def read_pip(text):
    return [row(entry["name"], entry["version"], None, entry["latest_version"], "") for entry in load(text)]


def read_go(text):
    rows, decoder, at = [], json.JSONDecoder(), 0
    text = text.strip()
    while at < len(text):
        try:
            module, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise Refused(f"the output is not JSON: {error}") from error
        while at < len(text) and text[at].isspace():
            at += 1
        if "Update" in module:
            kind = "indirect" if module.get("Indirect") else ""
            rows.append(row(module["Path"], module["Version"], None, module["Update"]["Version"], kind))
    return rows


READERS = {"npm": read_npm, "pip": read_pip, "go": read_go}


def load(text):
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise Refused(f"the output is not JSON: {error}") from error
    problem = value.get("error") if isinstance(value, dict) else None
    # There is a package called "error" as well; its entry has a version.
    if isinstance(problem, dict) and "latest" not in problem:
        raise Refused(str(problem.get("summary") or problem.get("code") or "npm gives no reason"))
    return value


def row(name, current, wanted, latest, kind):
    known = jump(current, latest) if current and latest else "other"
    return {"name": name, "current": current, "wanted": wanted, "latest": latest, "kind": kind, "jump": known}


def ask(ecosystem, folder):
    command = COMMANDS[ecosystem]
    if shutil.which(command[0]) is None:
        raise Refused(f"the program \"{command[0]}\" is not installed")
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in GOOD_STATUS[ecosystem]:
        last = ran.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Refused(f"\"{' '.join(command)}\" ended with status {ran.returncode}: {last[0]}")
    return ran.stdout


def detect(folder):
    found = [name for name, marks in MARKS.items() if any(os.path.exists(os.path.join(folder, mark)) for mark in marks)]
    if not found:
        raise Refused("no package.json, pyproject.toml, requirements.txt or go.mod here; name one with --ecosystem")
    if len(found) > 1:
        raise Refused(f"more than one kind of project here ({', '.join(found)}); name one with --ecosystem")
    return found[0]


def markdown(rows):
    if not rows:
        return "Nothing is outdated."
    lines = ["| Jump | Name | Current | In range | Latest | Kind |", "| --- | --- | --- | --- | --- | --- |"]
    for entry in rows:
        cells = (entry["jump"], entry["name"], entry["current"] or "not installed", entry["wanted"] or "", entry["latest"], entry["kind"])
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def arguments(argv):
    parser = argparse.ArgumentParser(description="List outdated dependencies, the riskiest jump first.")
    parser.add_argument("folder", nargs="?", default=".", help="the project (default: the current folder)")
    parser.add_argument("--ecosystem", choices=sorted(COMMANDS), help="found out from the folder if not given")
    parser.add_argument("--input", metavar="FILE", help='saved output of the package manager, or "-"; nothing is run')
    parser.add_argument("--only", metavar="NAME", action="append", help="this dependency only; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--check", action="store_true", help="exit with 3 if something is outdated")
    parser.epilog = "pip reports on the Python that runs this script: call it with that of the project's environment."
    return parser.parse_args(argv)


def outdated(chosen):
    ecosystem = chosen.ecosystem or detect(chosen.folder)
    if chosen.input is None:
        text = ask(ecosystem, chosen.folder)
    elif chosen.input == "-":
        text = sys.stdin.read()
    else:
        with open(chosen.input, encoding="utf-8") as file:
            text = file.read()
    rows = READERS[ecosystem](text)
    if chosen.only:
        rows = [entry for entry in rows if entry["name"] in chosen.only]
    return sorted(rows, key=lambda entry: (JUMPS.index(entry["jump"]), entry["name"]))


def main(argv=None):
    chosen = arguments(argv)
    try:
        rows = outdated(chosen)
    except (OSError, Refused) as error:
        print(f"outdated.py: cannot list what is outdated: {error}", file=sys.stderr)
        return 1
    print(json.dumps(rows, indent=2) if chosen.json else markdown(rows))
    return 3 if chosen.check and rows else 0


if __name__ == "__main__":
    sys.exit(main())
