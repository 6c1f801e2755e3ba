#!/usr/bin/env python3
"""Check a CSV file for problems before it is imported.

Reads the file as a stream and changes nothing. Needs Python 3.11 and nothing else.

Exit codes: 0 no errors, 1 errors (with --strict also warnings), 2 the file could not be checked.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import io
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

CHUNK = 1024 * 1024
SAMPLE_RECORDS = 200
SAMPLE_LINES = 2000
LONG_RECORD_LINES = 50
FIELD_LIMIT = 64 * 1024 * 1024
SEVERITIES = ("error", "warning", "info")
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_TEXT = {
    b"PK\x03\x04": "a zip archive or an .xlsx workbook",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\xd0\xcf\x11\xe0": "an old .xls workbook",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\x00": "an SQLite database",
}
NULL_WORDS = {"na", "n/a", "#n/a", "null", "none", "nil", "nan", "-", "--", "?", "unknown", "\\n"}
BOOLEANS = {"true", "false", "yes", "no", "y", "n", "t", "f"}
INTEGER = re.compile(r"[+-]?\d+")
ZERO_LED = re.compile(r"0\d+")
DECIMAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d{1,3}(,\d{3})+(\.\d+)?)")
DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(\.\d{3})+(,\d+)?|\d{1,3}(\.\d{3}){2,})")
SCIENTIFIC = re.compile(r"[+-]?\d+([.,]\d+)?[eE][+-]?\d+")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ISO_DATETIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
LOCAL_DATE = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})( \d{1,2}:\d{2}(:\d{2})?)?")
# UTF-8 that was read as cp1252: capital A with tilde or circumflex and a second sign, or the "smart quote" triple.
MOJIBAKE = re.compile("[\u00c2\u00c3][\u0080-\u00bf\u2018-\u203a\u0152-\u0178]|\u00e2\u20ac")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
FORMULA = re.compile(r"[=@]|[+-][^\d.,\s]")


class CannotCheckError(Exception):
    """The file cannot be checked; the message says what to do."""


@dataclass
class Finding:
    """One kind of problem, in the whole file or in one column."""

    severity: str
    check: str
    message: str
    column: str | None = None
    count: int = 1
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Column:
    """What is known about one column so far."""

    name: str
    filled: int = 0
    empty: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)
    day_first: int = 0
    month_first: int = 0


class Findings:
    """Collects findings; the same problem is counted instead of repeated."""

    def __init__(self, *, examples: int, values: bool) -> None:
        self._limit = examples
        self._values = values
        self._found: dict[tuple[str, str | None], Finding] = {}

    def add(
        self,
        severity: str,
        check: str,
        message: str,
        *,
        column: str | None = None,
        count: int = 1,
        examples: list[dict[str, Any]] | None = None,
    ) -> None:
        """Report a problem, or count it again if it was reported before."""
        finding = self._found.get((check, column))
        if finding is None:
            finding = self._found[(check, column)] = Finding(severity, check, message, column, 0)
        finding.count += count
        finding.examples += (examples or [])[: max(0, self._limit - len(finding.examples))]

    def example(self, line: int, row: int, value: str | None = None) -> dict[str, Any]:
        """Describe one place in the file."""
        place: dict[str, Any] = {"line": line, "row": row}
        if value is not None and self._values:
            place["value"] = value if len(value) <= 40 else value[:37] + "..."
        return place

    @property
    def limit(self) -> int:
        """How many examples are kept for a finding."""
        return self._limit

    def sorted(self) -> list[Finding]:
        """Return the findings, the worst first."""
        return sorted(self._found.values(), key=lambda finding: SEVERITIES.index(finding.severity))


def open_source(name: str) -> IO[bytes]:
    """Open the file, or a copy of standard input for "-", so that it can be read more than once."""
    if name == "-":
        spooled = tempfile.SpooledTemporaryFile(max_size=16 * CHUNK)  # noqa: SIM115 - the caller closes it
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.seek(0)
        return spooled
    path = Path(name)
    if path.is_dir():
        raise CannotCheckError(f"{name} is a folder; name one file.")
    try:
        return path.open("rb")
    except OSError as error:
        raise CannotCheckError(f"cannot open {name}: {error.strerror or error}") from None


def check_encoding(source: IO[bytes], wanted: str | None, findings: Findings) -> str:
    """Find out the encoding by reading all bytes, and report what is wrong with them.

    Returns:
        The name of a codec that reads the file.

    Raises:
        CannotCheckError: The file is empty, not text, or the wanted encoding is unknown.
    """
    head = source.read(64)
    if not head:
        raise CannotCheckError("the file is empty.")
    for magic, kind in NOT_TEXT.items():
        if head.startswith(magic):
            raise CannotCheckError(f"this is {kind}, not a CSV file. Unpack or export it first.")
    bom = next((codec for mark, codec in BOMS if head.startswith(mark)), None)
    try:
        codec = codecs.lookup(wanted or bom or "utf-8").name
        "a".encode(codec)  # refuses codecs that are no encodings of text, such as hex
        if wanted and bom == "utf-8-sig" and codec == "utf-8":
            codec = bom
        decoder = codecs.getincrementaldecoder(codec)()
    except (LookupError, UnicodeError):
        raise CannotCheckError(f"--encoding {wanted}: Python knows no such encoding of text.") from None
    if bom:
        findings.add("info", "bom", f"the file begins with a byte order mark ({bom})")
    source.seek(0)
    position, line, nul_bytes = 0, 1, 0
    chunk = source.read(CHUNK)
    while chunk:
        carried = len(decoder.getstate()[0])
        if not codec.startswith(("utf-16", "utf-32")):
            nul_bytes += chunk.count(0)
        following = source.read(CHUNK)
        try:
            decoder.decode(chunk, final=not following)
        except UnicodeError as error:
            at = getattr(error, "start", 0) - carried
            if codec == "utf-8-sig" and not position:
                at += len(codecs.BOM_UTF8)  # the decoder counts from behind it
            line += chunk[: max(at, 0)].count(b"\n")
            place = f"line {line}, byte {position + at}"
            if wanted or bom:
                fallback = codec
                message = f"the file is not valid {wanted or bom} ({place}); such bytes are shown as replaced"
            else:
                fallback = "cp1252"
                message = f"the file is not valid UTF-8 ({place}); it was read as cp1252, which is a guess"
            findings.add("error", "encoding", message, examples=[{"line": line, "byte": position + at}])
            codec = fallback
            break
        line += chunk.count(b"\n")
        position += len(chunk)
        chunk = following
    if nul_bytes:
        hint = "is it UTF-16 without a byte order mark? Try --encoding utf-16-le"
        findings.add("error", "nul-bytes", f"the file contains NUL bytes; {hint}", count=nul_bytes)
    return codec


class LineCounter:
    """Hands out decoded lines, counts their endings, and removes NUL characters, which csv refuses."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self.endings: Counter[str] = Counter()
        self.replaced = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            if line.endswith("\r\n"):
                self.endings["CRLF"] += 1
            elif line.endswith("\n"):
                self.endings["LF"] += 1
            elif line.endswith("\r"):
                self.endings["CR"] += 1
            self.replaced += line.count("\ufffd")
            yield line.replace("\0", "")


def text_of(source: IO[bytes], codec: str) -> io.TextIOWrapper:
    """Read the file as text from its beginning, with its own line endings."""
    source.seek(0)
    return io.TextIOWrapper(source, encoding=codec, errors="replace", newline="")


def separator_line(first: str) -> str | None:
    """Return the delimiter of a first line such as ``sep=;``, which spreadsheets write and read."""
    match = re.fullmatch(r'"?sep=(.)"?\s*', first, re.IGNORECASE)
    return match[1] if match else None


def detect_delimiter(sample: list[str]) -> str:
    """Choose the delimiter that gives the most even records with more than one field."""
    best, best_score = ",", 0.0
    for delimiter in (",", ";", "\t", "|"):
        widths: Counter[int] = Counter()
        try:
            for record in islice(csv.reader(iter(sample), delimiter=delimiter), SAMPLE_RECORDS):
                if record:
                    widths[len(record)] += 1
        except csv.Error:
            continue
        # An even split counts most; among even ones the one with more fields.
        width, rows = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(1, 0))
        score = rows / max(1, widths.total()) + min(width, 100) / 1000 if width > 1 else 0.0
        if score > best_score:
            best, best_score = delimiter, score
    return best


def quote_problem(lines: Iterator[str], delimiter: str) -> tuple[str, int, int] | None:
    """Return the first violation of the quoting rules as message, first line and last line of the record."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    try:
        for _ in reader:
            start = reader.line_num + 1
    except csv.Error as error:
        return str(error), start, reader.line_num
    return None


def kind_of(value: str) -> str:
    """Name the kind of one value that is not empty."""
    if INTEGER.fullmatch(value):
        return "code" if ZERO_LED.fullmatch(value) else "whole number"
    if SCIENTIFIC.fullmatch(value):
        return "scientific number"
    if DECIMAL.fullmatch(value):
        return "decimal number"
    if DECIMAL_COMMA.fullmatch(value):
        return "number with decimal comma"
    if value.lower() in BOOLEANS:
        return "boolean"
    try:
        if ISO_DATE.fullmatch(value):
            date.fromisoformat(value)
            return "ISO date"
        if ISO_DATETIME.match(value):
            datetime.fromisoformat(value)
            return "ISO date and time"
    except ValueError:
        return "impossible date"
    match = LOCAL_DATE.fullmatch(value)
    if match and 1 <= min(int(match[1]), int(match[3])) <= 12 and max(int(match[1]), int(match[3])) <= 31:
        return f"date with {match[2]}"
    return "text"


@lru_cache(maxsize=65536)
def inspect(raw: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a value that is not empty, and the checks it fails on its own.

    A word that stands for an empty value has no kind.
    """
    value = raw.strip()
    problems = ["cell-blanks"] if raw != value else []
    if value.lower() in NULL_WORDS:
        return "", (*problems, "null-word")
    if CONTROL.search(value):
        problems.append("control-character")
    if FORMULA.match(value):
        problems.append("formula")
    if not value.isascii():
        if MOJIBAKE.search(value):
            problems.append("mojibake")
        if "\ufffd" in value:
            problems.append("replacement-character")
    return kind_of(value), tuple(problems)


class Checker:
    """Checks the records of one file, one after the other."""

    def __init__(self, arguments: argparse.Namespace, findings: Findings) -> None:
        self._arguments = arguments
        self._findings = findings
        self.columns: list[Column] = []
        self.rows = 0
        self._width = 0
        self._seen: set[int] = set()
        self._keys: dict[int, dict[str, int]] = {}
        self._required: set[int] = set()

    def header(self, names: list[str], line: int) -> None:
        """Take the names of the columns and check them."""
        found = self._findings
        if not self._arguments.no_header:
            positions: dict[str, list[int]] = {}
            for position, name in enumerate(names, start=1):
                positions.setdefault(" ".join(name.split()).casefold(), []).append(position)
            for folded, places in positions.items():
                where = ", ".join(str(place) for place in places)
                if not folded:
                    found.add("error", "empty-header", f"no name in column {where}", count=len(places))
                elif len(places) > 1:
                    written = " and ".join(sorted({repr(names[place - 1]) for place in places}))
                    message = f"columns {where} have the same name {written} (case and blanks do not count)"
                    found.add(
                        "error", "duplicate-header", message, column=names[places[0] - 1].strip(), count=len(places)
                    )
            padded = [name for name in names if name != name.strip()]
            if padded:
                message = f"blanks around {', '.join(map(repr, padded[:5]))}"
                found.add("warning", "header-blanks", message, count=len(padded))
            filled = [name.strip() for name in names if name.strip()]
            if filled and not any(kind_of(name) in {"text", "boolean"} for name in filled):
                message = "the first row holds only numbers or dates; if it is data, use --no-header"
                found.add("warning", "header-is-data", message, examples=[found.example(line, 0, names[0])])
        else:
            names = [""] * len(names)
        self._width = len(names)
        self.columns = [Column(name.strip() or f"column {place}") for place, name in enumerate(names, start=1)]
        self._required = {place for name in self._arguments.required for place in self._positions(name, "required")}
        self._keys = {place: {} for name in self._arguments.unique for place in self._positions(name, "unique")}

    def _positions(self, name: str, option: str) -> list[int]:
        places = [place for place, column in enumerate(self.columns) if column.name == name.strip()]
        if not places:
            message = f"there is no column {name!r} (asked for with --{option})"
            self._findings.add("error", "missing-column", message, column=name)
        return places[:1]

    def row(self, record: list[str], line: int, last_line: int) -> None:
        """Check one record."""
        found = self._findings
        if not record:
            found.add("warning", "blank-line", "blank lines between the rows", examples=[{"line": line}])
            return
        self.rows += 1
        if last_line - line >= LONG_RECORD_LINES:
            message = f"a record spans more than {LONG_RECORD_LINES} lines; look for a stray quote at its beginning"
            found.add("warning", "long-record", message, examples=[found.example(line, self.rows)])
        if len(record) != self._width:
            message = f"rows do not have {self._width} fields"
            place = found.example(line, self.rows) | {"fields": len(record)}
            found.add("error", "ragged-row", message, examples=[place])
        if not any(value.strip() for value in record):
            found.add("warning", "empty-row", "rows without any value", examples=[found.example(line, self.rows)])
            return
        mark = hash(tuple(record))
        if mark in self._seen:
            message = "rows are exact copies of an earlier row"
            found.add("warning", "duplicate-row", message, examples=[found.example(line, self.rows)])
        self._seen.add(mark)
        for place, column in enumerate(self.columns):
            value = record[place] if place < len(record) else ""
            self._cell(place, column, value, line)

    def _cell(self, place: int, column: Column, raw: str, line: int) -> None:
        found = self._findings
        value = raw.strip()
        if not value:
            column.empty += 1
            if place in self._required:
                message = "empty, but asked for with --required"
                place_in_file = found.example(line, self.rows, raw)
                found.add("error", "required-empty", message, column=column.name, examples=[place_in_file])
            return
        column.filled += 1
        if place in self._keys:
            first = self._keys[place].setdefault(value, line)
            if first != line:
                message = "the same value occurs more than once, but --unique was given"
                place_in_file = found.example(line, self.rows, raw) | {"first_line": first}
                found.add("error", "not-unique", message, column=column.name, examples=[place_in_file])
        kind, problems = inspect(raw)
        for check in problems:
            column.hits[check] += 1
            self._sample(column, check, line, raw)
        if kind:
            column.kinds[kind] += 1
            self._sample(column, kind, line, raw)
        if kind.startswith("date with"):
            match = LOCAL_DATE.fullmatch(value)
            if match:
                column.day_first += int(match[1]) > 12
                column.month_first += int(match[3]) > 12

    def _sample(self, column: Column, key: str, line: int, raw: str) -> None:
        kept = column.samples.get(key)
        if kept is None:
            kept = column.samples[key] = []
        if len(kept) < self._findings.limit:
            kept.append(self._findings.example(line, self.rows, raw))

    def finish(self) -> None:
        """Report what can be said only after the last row."""
        if not self.rows:
            self._findings.add("error", "no-rows", "there is a header, but no row below it")
            return
        for column in self.columns:
            if not column.filled:
                self._findings.add("warning", "empty-column", "no row has a value", column=column.name, count=self.rows)
                continue
            self._report_hits(column)
            self._report_kinds(column)

    def _report_hits(self, column: Column) -> None:
        messages = {
            "cell-blanks": ("warning", "blanks around values"),
            "null-word": ("warning", "words that stand for an empty value"),
            "mojibake": ("error", "characters that were decoded wrongly before the export"),
            "replacement-character": ("error", "characters that are lost (U+FFFD)"),
            "control-character": ("warning", "invisible control characters"),
            "formula": ("warning", "values that a spreadsheet would run as a formula"),
        }
        for check, count in column.hits.items():
            severity, message = messages[check]
            self._findings.add(
                severity, check, message, column=column.name, count=count, examples=column.samples[check]
            )

    def _report_kinds(self, column: Column) -> None:
        kinds = column.kinds
        comma = "number with decimal comma"
        numbers = {"whole number", "decimal number", "code", "scientific number"}
        if not kinds["decimal number"]:
            numbers.add(comma)  # 1,5 and 2 belong together; 1,5 and 2.5 do not
        groups: Counter[str] = Counter()
        for kind, count in kinds.items():
            groups["number" if kind in numbers else kind] += count
        self._report_kind(column, "error", "impossible-date", "impossible date")
        self._report_dates(column)
        ranked = [(kind, count) for kind, count in groups.most_common() if count and kind != "impossible date"]
        if not ranked or ranked[0][0] == "text":
            return
        usual, usual_count = ranked[0]
        self._report_kind(column, "warning", "scientific-number", "scientific number")
        self._report_kind(column, "warning", "decimal-comma", comma)
        if len(ranked) == 1:
            self._report_kind(column, "warning", "leading-zeros", "code")
            return
        others = ranked[1:]
        rest = ", ".join(f"{count} {kind}" for kind, count in others)
        alike = numbers if usual == "number" else {usual}
        samples = [place for kind in kinds if kind not in alike for place in column.samples.get(kind, [])]
        self._findings.add(
            "warning",
            "mixed-types",
            f"mostly {usual} ({usual_count}), but also {rest}",
            column=column.name,
            count=sum(count for _, count in others),
            examples=samples,
        )

    def _report_kind(self, column: Column, severity: str, check: str, kind: str) -> None:
        messages = {
            "scientific-number": "numbers in scientific notation; digits may have been lost in a spreadsheet",
            "impossible-date": "dates that do not exist",
            "leading-zeros": "digits with leading zeros; import this column as text",
            "decimal-comma": "numbers with a decimal comma; many importers read them as text",
        }
        count = column.kinds[kind]
        if count:
            samples = column.samples[kind]
            self._findings.add(severity, check, messages[check], column=column.name, count=count, examples=samples)

    def _report_dates(self, column: Column) -> None:
        local = [kind for kind in column.kinds if kind.startswith("date with")]
        if not local:
            return
        count = sum(column.kinds[kind] for kind in local)
        samples = [place for kind in local for place in column.samples[kind]]
        if column.day_first and column.month_first:
            message = f"day comes first in {column.day_first}, month comes first in {column.month_first} values"
            self._findings.add("error", "mixed-date-order", message, column=column.name, count=count, examples=samples)
        elif not column.day_first and not column.month_first:
            message = "dates whose day and month cannot be told apart"
            self._findings.add("warning", "ambiguous-date", message, column=column.name, count=count, examples=samples)


def check(arguments: argparse.Namespace, source: IO[bytes]) -> dict[str, Any]:
    """Check the whole file and return the report."""
    findings = Findings(examples=arguments.examples, values=not arguments.no_values)
    codec = check_encoding(source, arguments.encoding, findings)
    csv.field_size_limit(FIELD_LIMIT)

    text = text_of(source, codec)
    first = text.readline()
    marked = separator_line(first)
    skipped = 1 if marked else 0
    sample = [] if marked else [first]
    sample += islice(text, SAMPLE_LINES)
    text.detach()
    sample = [line.replace("\0", "") for line in sample]
    delimiter = arguments.delimiter or marked or detect_delimiter(sample)
    if marked:
        findings.add(
            "warning", "separator-line", f"the first line is {first.strip()!r}; most importers take it as data"
        )
    if delimiter != ",":
        name = next((name for name, sign in DELIMITERS.items() if sign == delimiter), repr(delimiter))
        findings.add("info", "delimiter", f"the delimiter is {name}, not a comma")

    text = text_of(source, codec)
    for _ in range(skipped):
        text.readline()
    broken = quote_problem(iter(LineCounter(text)), delimiter)
    text.detach()
    if broken:
        message, start, end = broken
        unclosed = "unexpected end" in message
        check_name = "unclosed-quote" if unclosed else "stray-quote"
        detail = (
            "a quote is opened and never closed" if unclosed else f"a quote inside a value is not doubled ({message})"
        )
        place = {"line": start + skipped} | ({"last_line": end + skipped} if end != start else {})
        findings.add("error", check_name, f"{detail}; counts after this line are not reliable", examples=[place])

    text = text_of(source, codec)
    for _ in range(skipped):
        text.readline()
    lines = LineCounter(text)
    checker = Checker(arguments, findings)
    reader = csv.reader(iter(lines), delimiter=delimiter)
    limited = False
    line = 1
    blanks: list[int] = []
    try:
        for record in reader:
            if not checker.columns:
                if record:
                    checker.header(record, line + skipped)
                    if arguments.no_header:
                        checker.row(record, line + skipped, reader.line_num + skipped)
                else:
                    findings.add("warning", "blank-line", "blank lines", examples=[{"line": line + skipped}])
            elif not record:
                blanks.append(line + skipped)  # harmless at the end of the file
            else:
                for blank in blanks:
                    checker.row([], blank, blank)
                blanks.clear()
                checker.row(record, line + skipped, reader.line_num + skipped)
            line = reader.line_num + 1
            if arguments.max_rows and checker.rows >= arguments.max_rows:
                limited = True
                break
    except csv.Error as error:
        message = f"the file cannot be read any further: {error}"
        findings.add("error", "unreadable", message, examples=[{"line": line + skipped}])
    text.detach()
    if not checker.columns:
        raise CannotCheckError("the file holds nothing but blank lines.")
    checker.finish()
    used = [name for name, count in lines.endings.items() if count]
    if len(used) > 1:
        shares = ", ".join(f"{count} {name}" for name, count in lines.endings.most_common())
        findings.add("warning", "mixed-line-endings", f"lines end differently: {shares}")
    if len(checker.columns) == 1:
        findings.add("info", "one-column", "only one column; if there are more, give --delimiter")
    if limited:
        findings.add("info", "not-all-rows", f"stopped after {checker.rows} rows (--max-rows)")
    ordered = findings.sorted()
    counts = {severity: sum(finding.severity == severity for finding in ordered) for severity in SEVERITIES}
    return {
        "ok": not counts["error"] and not (arguments.strict and counts["warning"]),
        "file": arguments.file,
        "rows": checker.rows,
        "columns": [column_report(column) for column in checker.columns],
        "encoding": codec,
        "delimiter": delimiter,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [{key: value for key, value in vars(finding).items() if value is not None} for finding in ordered],
    }


def column_report(column: Column) -> dict[str, Any]:
    """Describe one column for the report."""
    return {
        "name": column.name,
        "filled": column.filled,
        "empty": column.empty,
        "kinds": dict(column.kinds.most_common()),
    }


def as_text(report: dict[str, Any]) -> str:
    """Write the report for people."""
    name = next((name for name, sign in DELIMITERS.items() if sign == report["delimiter"]), repr(report["delimiter"]))
    lines = [
        f"{report['file']}: {report['rows']} rows, {len(report['columns'])} columns, "
        f"delimiter {name}, encoding {report['encoding']}"
    ]
    for finding in report["findings"]:
        column = f" {finding['column']!r}:" if "column" in finding else ""
        count = f" [{finding['count']}x]" if finding["count"] > 1 else ""
        lines.append(f"{finding['severity'].upper():<7} {finding['check']}:{column} {finding['message']}{count}")
        for place in finding["examples"]:
            shown = ", ".join(f"{key} {value!r}" for key, value in place.items() if key != "row")
            lines.append(f"          {shown}")
    lines.append(f"errors: {report['errors']}, warnings: {report['warnings']}")
    return "\n".join(lines)


def delimiter_argument(value: str) -> str:
    """Accept one character or the name of a delimiter for argparse."""
    sign = DELIMITERS.get(value.lower(), value)
    if len(sign) != 1 or sign in '"\r\n':
        raise argparse.ArgumentTypeError(f"{value!r} is not one character or one of comma, semicolon, tab, pipe")
    return sign


def whole_number(value: str) -> int:
    """Accept a whole number from 0 on for argparse."""
    number = int(value)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{value} is below 0")
    return number


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(
        prog="check_csv.py",
        description="Check a CSV file for problems before it is imported. Changes nothing.",
        epilog="exit codes: 0 no errors, 1 errors (with --strict also warnings), 2 the file could not be checked",
    )
    add = result.add_argument
    add("file", metavar="FILE", help="the CSV file; - for standard input")
    add("--delimiter", type=delimiter_argument, metavar="CHAR", help="a character, or tab (default: detected)")
    add("--encoding", metavar="NAME", help="encoding of the file (default: detected)")
    add("--no-header", action="store_true", help="the first row is data")
    add("--required", action="append", default=[], metavar="COLUMN", help="must exist and be filled; repeatable")
    add("--unique", action="append", default=[], metavar="COLUMN", help="must not repeat a value; repeatable")
    add("--max-rows", type=whole_number, default=0, metavar="N", help="stop after N rows (default: read all)")
    add("--examples", type=whole_number, default=5, metavar="N", help="examples per finding (default: 5)")
    add("--no-values", action="store_true", help="show places only, no values (personal data)")
    add("--strict", action="store_true", help="warnings count as errors for the exit code")
    add("--json", action="store_true", help="print one JSON object instead of text")
    return result


def main(argv: list[str] | None = None) -> int:
    """Check the file and return the exit code."""
    arguments = parser().parse_args(argv)
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with open_source(arguments.file) as source:
            report = check(arguments, source)
    except CannotCheckError as error:
        print(f"check_csv: {arguments.file}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"check_csv: cannot read {arguments.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=2) if arguments.json else as_text(report))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
