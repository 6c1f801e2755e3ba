"""Keywords about folders and registries that Robot Framework's own libraries lack."""

from __future__ import annotations

import re
import time
from pathlib import Path

from robot.api.deco import keyword, library

_WAIT = 60.0


@library(scope="SUITE", doc_format="ROBOT", auto_keywords=False)
class RegistryLibrary:
    """What the suite of the registry needs."""

    @keyword
    def address_in(self, file: str) -> str:
        """Wait until a server has written its address into a file, and return that."""
        end = time.monotonic() + _WAIT
        while time.monotonic() < end:
            found = re.search(r"http://[\d.]+:\d+", Path(file).read_text() if Path(file).exists() else "")
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"{file} has no address after {_WAIT:g} seconds.")

    @keyword
    def folders_should_be_equal(self, one: str, other: str) -> None:
        """Fail unless two folders hold the same files: names, bytes and executable bits."""
        first, second = _tree(Path(one)), _tree(Path(other))
        if not first:
            raise AssertionError(f"{one} holds no files.")
        different = sorted(path for path in first.keys() | second.keys() if first.get(path) != second.get(path))
        if different:
            raise AssertionError(f"{one} and {other} differ in: {', '.join(different)}")


def _tree(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
