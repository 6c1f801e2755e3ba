"""Checks that a run ends when it must, and that what it printed until then is kept."""

from __future__ import annotations

import threading
import time

from skillbelt.testing.runners.hooks import RunnerHooks, holds, same

__all__ = ["LimitChecks"]


class LimitChecks(RunnerHooks):
    """Time, output and cancelling."""

    def test_a_run_that_takes_too_long_ends_and_keeps_what_it_printed(self) -> None:
        """The timeout is the host's, and it holds."""
        self.need("limits")
        began = time.monotonic()
        result = self.run_script("print('started', flush=True)\nimport time; time.sleep(60)", limits={"timeout": 1.0})
        took = time.monotonic() - began
        same((result.timed_out, result.reason, result.stdout), (True, "timeout", "started\n"), "The end")
        holds(result.exit_code != 0, "A run that was ended has exit code 0.")
        holds(took < 1.0 + self.seconds, f"It took {took:.1f} seconds.")

    def test_output_is_cut_in_the_middle_with_both_sizes(self) -> None:
        """Both ends are kept, the cut is marked, and the script ends by itself."""
        self.need("limits")
        code = """
            import sys
            print("BEGIN")
            for _ in range(200000): sys.stdout.write("x" * 99 + "\\n")
            print("END")
        """
        result = self.run_script(code)
        total = 6 + 200_000 * 100 + 4
        holds(result.truncated, "Twenty megabytes were kept, or nobody says that they were not.")
        holds(len(result.stdout) < 64 * 1024 + 500, f"{len(result.stdout)} characters were kept.")
        holds(result.stdout.startswith("BEGIN\n") and result.stdout.endswith("END\n"), "An end is missing.")
        holds(str(total) in result.stdout, "The cut does not say how much there was.")
        same((result.exit_code, result.reason), (0, "exit"), "The end")

    def test_cancelling_ends_the_run_within_moments(self) -> None:
        """A host that gives up does not wait for the script."""
        cancel = threading.Event()
        timer = threading.Timer(0.5, cancel.set)
        timer.start()
        began = time.monotonic()
        result = self.run_script("print('started', flush=True)\nimport time; time.sleep(60)", cancel=cancel)
        timer.join()
        same(result.reason, "cancelled", "The reason")
        holds(time.monotonic() - began < 0.5 + self.seconds, "It took too long.")
