"""What an import costs in a fresh interpreter, beside the libraries it cannot do without."""

import resource
import subprocess
import sys
from statistics import median

ROUNDS = 1
"""Turns of each import; more of them take minutes and change little."""

PAIRS = {
    "core": ("import skillbelt", "import pydantic, yaml; from pydantic import BaseModel"),
    "langchain": ("import skillbelt.langchain", "from langchain_core.tools import StructuredTool"),
    "llama_index": ("import skillbelt.llama_index", "from llama_index.core.tools import FunctionTool"),
}


def timeraw_core():
    return "import skillbelt"


def timeraw_langchain():
    return "import skillbelt.langchain"


def timeraw_llama_index():
    return "import skillbelt.llama_index"


def _cpu(statement):
    """Return the CPU seconds of an interpreter that runs one statement."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return used() - before


def track_times_limit(what):
    """How many times the CPU time of the libraries alone, interpreter start not counted."""
    ours, limit = PAIRS[what]
    one, other, start = (median(_cpu(statement) for _ in range(ROUNDS)) for statement in (ours, limit, "pass"))
    return (one - start) / (other - start)


track_times_limit.params = (tuple(PAIRS),)
track_times_limit.param_names = ("package",)
track_times_limit.unit = "x import of the libraries"
track_times_limit.timeout = 120


def track_framework_modules():
    """How many modules of LangChain or LlamaIndex a plain ``import skillbelt`` loads; it must be none."""
    statement = (
        "import sys, skillbelt; "
        "print(sum(m.partition('.')[0] in ('langchain', 'langchain_core', 'langgraph', 'llama_index', 'httpx') "
        "for m in sys.modules))"
    )
    return int(subprocess.run([sys.executable, "-c", statement], check=True, capture_output=True).stdout)


track_framework_modules.unit = "modules"
