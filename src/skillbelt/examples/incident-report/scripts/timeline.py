#!/usr/bin/env python3
"""Turn timestamped notes into one sorted Markdown timeline.

Reads text files with one event per line, each beginning with a time, and never guesses in silence: what it
cannot place is listed on standard error with the reason. Needs Python 3.11 and nothing else.

Exit codes: 0 every line was placed, 1 some lines were left out, 2 bad arguments or nothing to place.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MILESTONES = ("started", "detected", "acknowledged", "mitigated", "resolved")
DURATIONS = (
    ("Time to detect", "started", "detected"),
    ("Time to acknowledge", "detected", "acknowledged"),
    ("Time to mitigate", "started", "mitigated"),
    ("Time to resolve", "started", "resolved"),
)
DATE = r"(?P<date>\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4})"
CLOCK = r"(?:\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s*[ap]\.?m\b\.?)?|\d{1,2}\s*[ap]\.?m\b\.?)"
NAMED = r"\s*(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?\b|\s*[A-Z]{3,4}(?![\w'-])"
DATED = re.compile(
    rf"{DATE}(?:T|,?\s+(?:at\s+)?)(?P<clock>{CLOCK})(?P<zone>Z\b|\s?[+-]\d{{2}}:?\d{{2}}\b|{NAMED})?", re.I
)
TIMED = re.compile(rf"(?P<clock>{CLOCK})(?P<zone>Z\b|\+\d{{2}}:?\d{{2}}\b|{NAMED})?", re.I)
ONLY_DATE = re.compile(rf"(?:date\s*:\s*)?{DATE}\W*", re.I)
EPOCH = re.compile(r"(?P<epoch>\d{10}(?:\.\d{1,6})?|\d{13})(?=\s|[\])|,:;-]|$)")
UNTIL = re.compile(rf"\s*(?:-|to|until|\u2013|\u2014)\s*(?P<until>{CLOCK})", re.I)
PREFIX = re.compile(r"\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)*(?:\*\*|__)?[\[(`]*")
SUFFIX = re.compile(r"[\])`]*(?:\*\*|__)?\s*(?:--|->|[-:|,;\u2013\u2014])?\s*")
MARK = re.compile(rf"\[({'|'.join(MILESTONES)})\]|(?<!\w)#({'|'.join(MILESTONES)})\b", re.I)
ABBREVIATIONS = re.compile(
    r"[ECMP][SD]T|AK[SD]T|HST|AST|ADT|N[SD]T|BRT|WES?T|CES?T|EES?T|MSK|BST|IST|PKT|ICT|WIB|HKT|SGT|PHT|JST|KST"
    r"|AE[SD]T|AC[SD]T|AWST|NZ[SD]T|SAST|GST"
)


class UsageError(Exception):
    """The arguments or the input cannot be used; the message says what to change."""


class UnplacedError(Exception):
    """One line has no usable time; the message says why."""


@dataclass(frozen=True)
class Entry:
    """One event of the timeline."""

    when: datetime
    text: str
    milestone: str | None
    source: str
    line: int


@dataclass
class Reading:
    """What was read so far, and what the reader assumed."""

    entries: list[Entry] = field(default_factory=list)
    unplaced: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Settings:
    """How times are to be understood."""

    zone: tzinfo
    zones: dict[str, tzinfo]
    order: str | None
    roles: dict[str, str]


def parse_offset(text: str) -> tzinfo | None:
    """Turn "Z", "UTC", "+02:00", "+0200" or "UTC+2" into a zone; None if it is something else."""
    match = re.fullmatch(r"(?:Z|UTC|GMT)?(?:([+-])(\d{1,2}):?(\d{2})?)?", text.strip().upper())
    if not match or not text.strip():
        return None
    sign, hours, minutes = match.groups()
    if sign is None:
        return UTC
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset > timedelta(hours=14) or int(minutes or 0) > 59:
        return None
    return timezone(offset if sign == "+" else -offset)


def parse_zone(text: str) -> tzinfo:
    """Turn an offset or an IANA name such as Europe/Berlin into a zone.

    Raises:
        UsageError: There is no such zone here.
    """
    offset = parse_offset(text)
    if offset is not None:
        return offset
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"unknown time zone {text!r}; use a name such as Europe/Berlin or an offset like +02:00"
        ) from None


def parse_date(text: str, order: str | None) -> date:
    """Read a date; the order of day and month must be known where it is not clear.

    Raises:
        UnplacedError: The date is ambiguous or does not exist.
    """
    parts = [int(part) for part in re.split(r"[-/.]", text)]
    if parts[0] > 31:
        year, month, day = parts
    elif parts[0] > 12 or order == "dmy":
        day, month, year = parts
    elif parts[1] > 12 or order == "mdy":
        month, day, year = parts
    else:
        raise UnplacedError(f"{text} can be two dates; write YYYY-MM-DD or give --date-order dmy or mdy")
    try:
        return date(year, month, day)
    except ValueError:
        raise UnplacedError(f"{text} is not a date") from None


def parse_clock(text: str) -> time:
    """Read a time of day in 24-hour or AM/PM form.

    Raises:
        UnplacedError: There is no such time.
    """
    match = re.fullmatch(
        r"(\d{1,2})(?::(\d{2}))?(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(?:([ap])\.?m\.?)?", text.strip().lower()
    )
    if match is None:
        raise UnplacedError(f"{text} is not a time")
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if match[5]:
        if not 1 <= hour <= 12:
            raise UnplacedError(f"{text} is not a time")
        hour = hour % 12 + (12 if match[5] == "p" else 0)
    try:
        return time(hour, minute, second, int((match[4] or "0")[:6].ljust(6, "0")))
    except ValueError:
        raise UnplacedError(f"{text} is not a time") from None


class Reader:
    """Reads one file of notes."""

    def __init__(self, source: str, first_day: date | None, settings: Settings, reading: Reading) -> None:
        self._source = source
        self._day = first_day
        self._previous: datetime | None = None
        self._settings = settings
        self._reading = reading

    def read(self, text: str) -> None:
        """Read all lines and add what they give to the reading."""
        open_entry = False
        fenced = False
        for number, line in enumerate(text.splitlines(), start=1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                continue
            if not line.strip():
                open_entry = open_entry and fenced
                continue
            try:
                entry = self._entry(line, number)
            except UnplacedError as error:
                self._leave_out(line, number, str(error))
                open_entry = False
                continue
            if entry is not None:
                self._reading.entries.append(entry)
                open_entry = True
            elif self._is_heading(line):
                open_entry = False
            elif open_entry:
                last = self._reading.entries[-1]
                self._reading.entries[-1] = replace(last, text=f"{last.text}\n{self._with_roles(line.strip())}")
            else:
                self._leave_out(line, number, "no time at its beginning")

    def _leave_out(self, line: str, number: int, reason: str) -> None:
        self._reading.unplaced.append({"source": self._source, "line": number, "text": line.strip(), "reason": reason})

    def _is_heading(self, line: str) -> bool:
        """Take over the day of a heading; also tell whether the line is one at all."""
        start = PREFIX.match(line)
        day = ONLY_DATE.fullmatch(line, start.end() if start else 0)
        if day:
            self._day = parse_date(day["date"], self._settings.order)
            self._previous = None
            return True
        return line.lstrip().startswith("#") or not re.search(r"\w", line)

    def _entry(self, line: str, number: int) -> Entry | None:
        start = PREFIX.match(line)
        position = start.end() if start else 0
        epoch = EPOCH.match(line, position)
        if epoch:
            seconds = float(epoch["epoch"]) / (1000 if len(epoch["epoch"]) == 13 else 1)
            return self._finish(datetime.fromtimestamp(seconds, UTC), line, epoch.end(), number)
        dated = DATED.match(line, position)
        match = dated or TIMED.match(line, position)
        if match is None:
            day = ONLY_DATE.fullmatch(line, position)
            if day:
                self._is_heading(line)
                return None
            if re.match(DATE, line[position:]):
                raise UnplacedError("a date without a time")
            return None
        clock = parse_clock(match["clock"])
        zone, end = self._zone(match)
        if dated and end == match.end() and re.fullmatch(r"-\d\d:\d\d", match["zone"] or ""):
            self._note(number, f"{match['zone']} is read as an offset from UTC; for a period write 'to' between")
        if dated:
            self._day = parse_date(match["date"], self._settings.order)
        elif self._day is None:
            raise UnplacedError("only a time and no date above it; give --date YYYY-MM-DD")
        when = self._localized(datetime.combine(self._day, clock), zone, number)
        if not dated and self._previous and self._previous - when > timedelta(hours=12):
            self._day += timedelta(days=1)
            when = self._localized(datetime.combine(self._day, clock), zone, number)
            self._note(number, f"{match['clock']} is taken as the next day, {self._day}")
        self._previous = when
        return self._finish(when, line, end, number)

    def _zone(self, match: re.Match[str]) -> tuple[tzinfo, int]:
        """Return the zone of a matched time, and where the text after it begins."""
        text = (match["zone"] or "").strip()
        if not text:
            return self._settings.zone, match.end()
        known = self._settings.zones.get(text.upper()) or parse_offset(text)
        if known is not None:
            return known, match.end()
        if ABBREVIATIONS.fullmatch(text):
            raise UnplacedError(f"{text} has more than one meaning; give --zone {text}=+HH:MM")
        if text[0] == "+":
            raise UnplacedError(f"{text} is not an offset from UTC")
        return self._settings.zone, match.start("zone")  # "14:02 DNS fails", "14:00-14:30 no writes"

    def _localized(self, naive: datetime, zone: tzinfo, number: int) -> datetime:
        if not 1970 <= naive.year <= 2999:
            raise UnplacedError(f"the year {naive.year} cannot be right")
        first, second = naive.replace(tzinfo=zone), naive.replace(tzinfo=zone, fold=1)
        if first.utcoffset() != second.utcoffset():
            self._note(number, f"{naive:%Y-%m-%d %H:%M} is in the hour of a clock change; check it")
        return first.astimezone(UTC)

    def _note(self, number: int, message: str) -> None:
        note = f"{self._source}:{number}: {message}"
        if note not in self._reading.notes:
            self._reading.notes.append(note)

    def _with_roles(self, text: str) -> str:
        for name, role in self._settings.roles.items():
            text = re.sub(rf"(?<![\w@])@?{re.escape(name)}(?!@?\w)", lambda _, role=role: role, text, flags=re.I)
        return text

    def _finish(self, when: datetime, line: str, end: int, number: int) -> Entry:
        prefix = ""
        until = UNTIL.match(line, end)
        if until:
            prefix, end = f"(until {until['until']}) ", until.end()
        suffix = SUFFIX.match(line, end)
        text = line[suffix.end() if suffix else end :].strip()
        mark = MARK.search(text)
        if mark:
            text = " ".join((text[: mark.start()] + text[mark.end() :]).split())
        milestone = (mark[1] or mark[2]).lower() if mark else None
        return Entry(when, prefix + self._with_roles(text), milestone, self._source, number)


def without_doubles(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """Sort the entries and drop those that say the same at the same time."""
    seen: dict[tuple[datetime, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.when):
        key = (entry.when, entry.text.casefold())
        if key in seen:
            kept = seen[key]
            notes.append(f"{entry.source}:{entry.line}: same as {kept.source}:{kept.line}, left out")
            if entry.milestone and not kept.milestone:
                seen[key] = replace(kept, milestone=entry.milestone)
        else:
            seen[key] = entry
    return list(seen.values())


def spoken(span: timedelta) -> str:
    """Write a duration such as "1 h 05 min"."""
    seconds = int(span.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 24 else f"{hours // 24} d {hours % 24} h {minutes:02} min"


def durations(entries: list[Entry], notes: list[str]) -> dict[str, timedelta]:
    """Compute the durations between milestones: the first start, the last mitigation and resolution."""
    at: dict[str, datetime] = {}
    for entry in entries:
        if entry.milestone in {"mitigated", "resolved"}:
            at[entry.milestone] = entry.when
        elif entry.milestone:
            at.setdefault(entry.milestone, entry.when)
    found: dict[str, timedelta] = {}
    for name, begin, end in DURATIONS:
        if begin in at and end in at:
            if at[end] < at[begin]:
                notes.append(f"[{end}] is earlier than [{begin}], so there is no {name.lower()}; check the marks")
            else:
                found[name] = at[end] - at[begin]
    return found


def markdown(entries: list[Entry], spans: dict[str, timedelta], zone: tzinfo, name: str, style: str, title: str) -> str:
    """Write the timeline as a Markdown table or list."""
    local = [entry.when.astimezone(zone) for entry in entries]
    one_day = len({when.date() for when in local}) == 1
    clock = "%H:%M:%S" if any(when.second for when in local) else "%H:%M"
    pattern = clock if one_day else f"%Y-%m-%d {clock}"
    lines = [f"## {title}", ""]
    if one_day:
        lines += [f"All times on {local[0]:%Y-%m-%d}, {name}.", ""]
    if style == "table":
        lines += [f"| Time ({name}) | Since start | Event |", "|---|---|---|"]
    begin = next((entry.when for entry in entries if entry.milestone == "started"), entries[0].when)
    for entry, when in zip(entries, local, strict=True):
        mark = f"**{entry.milestone}** " if entry.milestone else ""
        text = (mark + entry.text).strip() or "(no text)"
        if style == "table":
            gap = entry.when - begin
            since = f"-{spoken(-gap)}" if gap < timedelta() else f"+{spoken(gap)}"
            cell = text.replace("|", "\\|").replace("\n", "<br>")
            lines.append(f"| {when.strftime(pattern)} | {since} | {cell} |")
        else:
            lines.append(f"- {when.strftime(pattern)} - " + text.replace("\n", "\n  "))
    if spans:
        lines += ["", "## Durations", ""]
        lines += [
            f"- {label} ({begin} to {end}): {spoken(spans[label])}" for label, begin, end in DURATIONS if label in spans
        ]
    return "\n".join(lines)


def pairs(values: list[str], option: str) -> dict[str, str]:
    """Split NAME=VALUE arguments."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name.strip() or not rest.strip():
            raise UsageError(f"{option} {value!r}: expected NAME=VALUE")
        found[name.strip().removeprefix("@")] = rest.strip()
    return found


def read_text(source: str) -> str:
    """Read one file of notes, or standard input for "-"."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 (byte {error.start}); convert it first") from None


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(
        prog="timeline.py",
        description="Turn timestamped notes into one sorted Markdown timeline.",
        epilog="exit codes: 0 every line was placed, 1 some were left out (see stderr), 2 nothing to place",
    )
    add = result.add_argument
    add("files", nargs="+", metavar="FILE", help="text files with notes; - for standard input")
    add("--date", metavar="YYYY-MM-DD", help="day of the first times that have no date")
    add("--date-order", choices=("dmy", "mdy"), help="how to read dates such as 03/04/2025")
    add("--tz", default="UTC", metavar="ZONE", help="zone of times that name none (default: UTC)")
    add("--out-tz", default="UTC", metavar="ZONE", help="zone of the timeline (default: UTC)")
    add(
        "--zone",
        action="append",
        default=[],
        metavar="NAME=ZONE",
        help="meaning of an abbreviation, as CST=-06:00",
    )
    add(
        "--role",
        action="append",
        default=[],
        metavar="NAME=ROLE",
        help="replace a name by a role; repeatable",
    )
    add("--format", choices=("table", "list"), default="table", help="form of the timeline (default: table)")
    add("--title", default="Timeline", metavar="TEXT", help="heading (default: Timeline)")
    add("--json", action="store_true", help="print one JSON object instead of Markdown")
    return result


def run(arguments: argparse.Namespace) -> int:
    """Read the notes, print the timeline and return the exit code."""
    try:
        first_day = date.fromisoformat(arguments.date) if arguments.date else None
    except ValueError:
        raise UsageError(f"--date {arguments.date}: expected YYYY-MM-DD") from None
    zones = {name.upper(): parse_zone(value) for name, value in pairs(arguments.zone, "--zone").items()}
    settings = Settings(parse_zone(arguments.tz), zones, arguments.date_order, pairs(arguments.role, "--role"))
    out_zone = parse_zone(arguments.out_tz)
    reading = Reading()
    for source in arguments.files:
        Reader(source, first_day, settings, reading).read(read_text(source))
    entries = without_doubles(reading.entries, reading.notes)
    spans = durations(entries, reading.notes)
    for note in reading.notes:
        print(f"note: {note}", file=sys.stderr)
    for item in reading.unplaced:
        print(f"left out: {item['source']}:{item['line']}: {item['reason']}: {item['text']}", file=sys.stderr)
    if not entries:
        raise UsageError("no line begins with a usable time, such as 2025-03-04 14:02")
    if arguments.json:
        report = {
            "time_zone": arguments.out_tz,
            "entries": [
                {
                    "time": entry.when.astimezone(out_zone).isoformat(),
                    "text": entry.text,
                    "milestone": entry.milestone,
                    "source": entry.source,
                    "line": entry.line,
                }
                for entry in entries
            ],
            "durations_seconds": {name: int(span.total_seconds()) for name, span in spans.items()},
            "unplaced": reading.unplaced,
            "notes": reading.notes,
        }
        print(json.dumps(report, indent=2))
    else:
        print(markdown(entries, spans, out_zone, arguments.out_tz, arguments.format, arguments.title))
    return 1 if reading.unplaced else 0


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, run, and return the exit code."""
    arguments = parser().parse_args(argv)
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    try:
        return run(arguments)
    except UsageError as error:
        print(f"timeline: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
