"""What an import costs in a fresh interpreter, beside the libraries it cannot do without."""

import resource
import subprocess
import sys
from statistics import median

PAIRS = {
    "core": ("import skillbelt", "import pydantic, yaml; from pydantic import BaseModel"),
    "langchain": ("import skillbelt.langchain", "from langchain_core.tools import StructuredTool"),
    "llama_index": ("import skillbelt.llama_index", "from llama_index.core.tools import FunctionTool"),
}


def timeraw_core():
    return "import skillbelt"


def timeraw_langchain():
    return "import skillbelt.langchain"


def timeraw_langchain_middleware():
    return "from skillbelt.langchain import SkillsMiddleware"


def timeraw_llama_index():
    return "import skillbelt.llama_index"


def timeraw_limit_core():
    return PAIRS["core"][1]


def timeraw_limit_langchain():
    return PAIRS["langchain"][1]


def timeraw_limit_langchain_middleware():
    return "from langchain.agents.middleware import AgentMiddleware"


def timeraw_limit_llama_index():
    return PAIRS["llama_index"][1]


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
    turns = [(_cpu(ours), _cpu(limit), _cpu("pass")) for _ in range(3)]
    one, other, start = (median(times) for times in zip(*turns, strict=True))
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
