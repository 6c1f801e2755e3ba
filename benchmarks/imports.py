"""What an import costs in a fresh interpreter, beside the libraries it cannot do without."""

import subprocess
import sys

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


def _run(statements):
    return subprocess.run([sys.executable, "-c", statements], check=True, capture_output=True, text=True).stdout


def track_times_limit(what):
    """How many times the CPU time of the libraries alone: they are imported first, then skillbelt on top of them."""
    ours, limit = PAIRS[what]
    clock = "times.append(time.process_time_ns())"
    taken = _run(f"import time; times = []; {clock}; {limit}; {clock}; {ours}; {clock}; print(*times)")
    start, middle, end = map(int, taken.split())
    return (end - start) / (middle - start)


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
    return int(_run(statement))


track_framework_modules.unit = "modules"
