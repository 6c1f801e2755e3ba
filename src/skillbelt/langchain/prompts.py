"""Skills in prompt templates: their braces stay what they are.

``create_agent(system_prompt=…)`` takes text as it is. A ``ChatPromptTemplate`` does not: it reads ``{width}`` in a
description as one of its variables. Two ways around that stand here.
"""

from __future__ import annotations

import re
from typing import Literal

from langchain_core.messages import SystemMessage

from skillbelt.errors import SkillError
from skillbelt.router import SkillRouter

__all__ = ["prompt_template_text", "system_message"]


def prompt_template_text(
    router: SkillRouter, template: str = "", *, template_format: Literal["f-string", "mustache", "jinja2"] = "f-string"
) -> str:
    r"""Return a system prompt for a template: the skills section is literal text, everything else stays a template.

    Args:
        router: The skills.
        template: The rest of the prompt, with its own variables; the section stands where it says ``{skills}``, else
            at its end.
        template_format: Of the template it goes into.

    Raises:
        SkillError: The format has no way to write text literally.

    Example:
        >>> from langchain_core.prompts import ChatPromptTemplate
        >>> from skillbelt import MappingSource
        >>> skills = {"box/SKILL.md": "---\nname: box\ndescription: Fills {width} boxes.\n---\nGo.\n"}
        >>> text = prompt_template_text(SkillRouter(MappingSource(skills)), "You help {who}.")
        >>> prompt = ChatPromptTemplate([("system", text), ("human", "{question}")])
        >>> "Fills {width} boxes." in prompt.invoke({"who": "Ada", "question": "?"}).messages[0].content
        True
    """
    section = router.prompt()
    if template_format == "f-string":
        section = section.replace("{", "{{").replace("}", "}}")
    elif template_format == "jinja2":
        if re.search(r"\{%[-+]?\s*endraw", section):
            raise SkillError("A description says {% endraw %}, which jinja2 cannot hold as text. Use system_message().")
        section = f"{{% raw %}}{section}{{% endraw %}}" if section else ""
    elif "{{" in section:
        raise SkillError("A description holds {{, which mustache cannot hold as text. Use system_message().")
    if "{skills}" in template:
        return template.replace("{skills}", section)
    if not section:
        return template
    return f"{template}\n\n{section}" if template else section


def system_message(router: SkillRouter, base: str = "") -> SystemMessage:
    """Return the system prompt as a message, which templates pass on as it is.

    Args:
        router: The skills.
        base: The agent's own prompt.
    """
    return SystemMessage(router.prompt(base))
