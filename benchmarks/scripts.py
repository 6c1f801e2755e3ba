"""What a run of a script costs, beside the interpreter alone with the same script.

Both are run turn by turn, and their medians compared. Goals: LocalRunner at most 2 times the bare interpreter, the
sandbox with Landlock 2.5, with bubblewrap 3.5.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from skillbelt.errors import ScriptError
from skillbelt.scripts import LocalRunner, SandboxRunner, ScriptRequest, SkillFiles

ROUNDS = 25
CODE = "print('hello')\n"
FILES = SkillFiles.of({"SKILL.md": b"---\nname: t\ndescription: T.\n---\n", "scripts/hello.py": CODE.encode()})


def _taken(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class Scripts:
    """A trivial Python script under each runner."""

    params = ("local", "landlock", "bubblewrap")
    param_names = ("runner",)
    timeout = 300

    def setup(self, runner):
        self.folder = tempfile.TemporaryDirectory(prefix="skillbelt-bench-")
        self.script = Path(self.folder.name) / "hello.py"
        self.script.write_text(CODE)
        cache = Path(self.folder.name) / "cache"
        try:
            self.runner = LocalRunner(cache=cache) if runner == "local" else SandboxRunner(cache=cache, rungs=[runner])
        except ScriptError as error:
            self.folder.cleanup()
            raise NotImplementedError(str(error)) from error  # asv's word for «not on this machine»
        self.run()

    def teardown(self, runner):
        del self.runner
        self.folder.cleanup()

    def run(self):
        result = self.runner.run(ScriptRequest("t", "scripts/hello.py", FILES))
        assert result.stdout == "hello\n", result

    def bare(self):
        subprocess.run([sys.executable, str(self.script)], stdout=subprocess.PIPE, check=True)

    def time_run(self, runner):
        self.run()

    def track_times_limit(self, runner):
        pairs = [(_taken(self.bare), _taken(self.run)) for _ in range(ROUNDS)]
        return median(run for _, run in pairs) / median(bare for bare, _ in pairs)

    track_times_limit.unit = "x python3 script"
