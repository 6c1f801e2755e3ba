"""Checks that an honest script works as its author wrote it."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from skillbelt.errors import ScriptError
from skillbelt.scripts.workspace import Workspace
from skillbelt.testing.runners.hooks import RunnerHooks, holds, same, script

__all__ = ["HonestChecks"]

ODD = ("a b", "", "-x", "$(echo hi)", "`id`", "*", "it's", '"', "naïve → ✓", "line\nbreak", "--", "\\", "~")


class HonestChecks(RunnerHooks):
    """Scripts as written: arguments, folders, imports, streams, files."""

    def test_arguments_arrive_exactly(self) -> None:
        """No shell, no splitting, no expansion, nothing lost."""
        result = self.run_script("import sys, json; print(json.dumps(sys.argv[1:]))", *ODD)
        same(json.loads(result.stdout), list(ODD), "The arguments")

    def test_an_exit_code_and_both_streams_come_back(self) -> None:
        """A failing script is a result, not an exception."""
        result = self.run_script("import sys; print('partial'); print('why', file=sys.stderr); sys.exit(3)")
        same((result.exit_code, result.stdout, result.stderr), (3, "partial\n", "why\n"), "Exit code and streams")
        same((result.reason, result.timed_out, result.truncated, result.ok), ("exit", False, False, False), "The end")

    def test_siblings_and_references_are_where_they_are_in_the_skill(self) -> None:
        """The whole skill is there, not the script alone."""
        code = """
            import pathlib, helper
            here = pathlib.Path(__file__).resolve().parent
            print(helper.UNIT, (here.parent / "references" / "scale.txt").read_text())
        """
        files = {"scripts/helper.py": "UNIT = 'g'\n", "references/scale.txt": "kitchen"}
        result = self.run_script(script(code, **files))
        same(result.stdout, "g kitchen\n", f"What it read (stderr: {result.stderr[-300:]})")

    def test_the_working_folder_is_writable_and_empty_and_not_the_skill(self) -> None:
        """Each run has a folder of its own."""
        code = """
            import os, pathlib
            skill = pathlib.Path(__file__).resolve().parents[1]
            print(os.listdir(), skill in pathlib.Path.cwd().resolve().parents, skill == pathlib.Path.cwd().resolve())
            open("note.txt", "w").write("x")
        """
        for _ in range(2):
            result = self.run_script(code)
            same(result.stdout, "[] False False\n", "What is in the working folder, and whether it is in the skill")

    def test_standard_input_is_given_or_empty(self) -> None:
        """A script that asks for input is not left waiting."""
        code = "import sys; print(repr(sys.stdin.buffer.read()))"
        same(self.run_script(code).stdout, "b''\n", "Without stdin")
        data = bytes(range(256)) * 300
        result = self.run_script("import sys; print(len(sys.stdin.buffer.read()))", stdin=data)
        same(result.stdout, f"{len(data)}\n", "The size of stdin")
        result = self.run_script("print('never reads')", stdin=b"x" * 1_000_000)
        same(result.stdout, "never reads\n", "A script that does not read")

    def test_text_is_utf8_whatever_the_locale(self) -> None:
        """Text arrives as it was written."""
        result = self.run_script("print('naïve → ✓ 日本'); open('ü.txt', 'w').write('é')")
        same(result.stdout, "naïve → ✓ 日本\n", "The text")

    def test_an_unknown_script_and_one_nothing_runs_are_refused(self) -> None:
        """Refusals are errors that say what is wrong."""
        for path in ("scripts/none.py", "../main.py"):
            self._refused(path)
        self._refused("scripts/data.unknown")

    def _refused(self, path: str) -> None:
        try:
            self.run_script(script("print()", **{"scripts/data.unknown": "x"}), path=path)
        except ScriptError as error:
            holds(str(error).strip(), f"The refusal of {path!r} says nothing.")
        else:
            raise AssertionError(f"{path!r} was run.")

    def test_shell_scripts_run_too(self) -> None:
        """Without an executable bit, with the first line of Windows (S2-47)."""
        if not {"sh", "bash"} & set(self.languages):
            raise self.left_out("it has no shell")
        files = {
            "scripts/run.sh": '#!/bin/sh\necho "$1|$#"\n',
            "scripts/crlf": "#!/usr/bin/env python3\r\nprint(1)\r\n",
        }
        result = self.run_script(script("", **files), "a b", "c", path="scripts/run.sh")
        same((result.stdout, result.exit_code), ("a b|2\n", 0), f"The shell script (stderr: {result.stderr[-300:]})")
        same(self.run_script(script("", **files), path="scripts/crlf").stdout, "1\n", "The script with a Windows line")

    def test_files_are_handed_in_and_handed_back(self) -> None:
        """What the host gives is there; what the script leaves comes back."""
        if not self.takes_files:
            raise self.left_out("it takes no files")
        code = """
            import os
            os.makedirs("out/deep")
            open("out/deep/sum.txt", "w").write(open("in/data.csv").read().upper())
        """
        result = self.run_script(code, files={"in/data.csv": b"a,b\n"})
        same(result.exit_code, 0, f"The exit code (stderr: {result.stderr[-300:]})")
        same(sorted(info.path for info in result.files), ["in/data.csv", "out/deep/sum.txt"], "The files")
        same(result.contents["out/deep/sum.txt"], b"A,B\n", "The content")

    def test_a_workspace_keeps_files_from_run_to_run(self) -> None:
        """What one run leaves, the next one finds; closing it removes everything."""
        if not self.keeps_workspaces:
            raise self.left_out("it keeps no working folders")
        with Workspace({"count.txt": b"1"}) as workspace:
            for expected in ("2", "3"):
                code = "n = int(open('count.txt').read()) + 1; open('count.txt', 'w').write(str(n)); print(n)"
                same(self.run_script(code, workspace=workspace).stdout, f"{expected}\n", "The count")
            same(workspace.read("count.txt"), b"3", "What the host reads")
            path = workspace.path
        holds(not path.exists(), "A closed workspace is still there.")

    def test_output_is_heard_while_the_script_runs(self) -> None:
        """Lines come one by one, before the end."""
        if not self.streams:
            raise self.left_out("it does not stream")
        heard: list[tuple[float, str, str]] = []
        code = """
            import sys, time
            print("first")
            print("oops", file=sys.stderr)
            time.sleep(1.0)
            print("last", end="")
        """
        result = self.run_script(code, on_output=lambda stream, line: heard.append((time.monotonic(), stream, line)))
        ended = time.monotonic()
        same({(stream, line) for _, stream, line in heard},
             {("stdout", "first"), ("stderr", "oops"), ("stdout", "last")}, "The lines")  # fmt: skip
        holds(ended - heard[0][0] > 0.7, "The first line came with the last one.")
        same(result.stdout, "first\nlast", "The whole output")

    def test_runs_at_the_same_time_do_not_meet(self) -> None:
        """A runner may be shared by threads."""
        code = """
            import os, sys, time
            open("who.txt", "w").write(sys.argv[1])
            time.sleep(0.2)
            print(open("who.txt").read(), os.listdir())
        """
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda n: self.run_script(code, str(n)).stdout, range(6)))
        same(results, [f"{n} ['who.txt']\n" for n in range(6)], "What each run saw")

    def test_secrets_reach_the_script_and_nothing_else(self) -> None:
        """A granted variable is there, and is left out of what comes back."""
        heard: list[str] = []
        code = """
            import os, sys
            key = os.environ["PROBE_KEY"]
            print(len(key), key)
            print("x" + key + "y", file=sys.stderr)
            sys.stdout.write(key[:10]); sys.stdout.flush(); sys.stdout.write(key[10:])
        """
        secret = "s3cr3t-value-0123456789"  # noqa: S105 - made up
        result = self.run_script(code, secrets={"PROBE_KEY": secret}, on_output=lambda _, line: heard.append(line))
        same(result.exit_code, 0, f"The exit code (stderr: {result.stderr[-200:]})")
        holds(result.stdout.startswith("23 "), f"The script did not get the secret: {result.stdout!r}.")
        holds(secret not in f"{result!r} {result.stdout} {result.stderr} {heard}", "The secret came back.")

    def test_a_run_that_is_cancelled_before_it_begins_ends_at_once(self) -> None:
        """An event that is set already ends the run."""
        cancel = threading.Event()
        cancel.set()
        began = time.monotonic()
        result = self.run_script("import time; time.sleep(15)", cancel=cancel)
        same(result.reason, "cancelled", "The reason")
        holds(time.monotonic() - began < self.seconds, "It took too long.")
