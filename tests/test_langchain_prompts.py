"""C04: text that tries to leave its box, in agents and in prompt templates."""

import re

import pytest
from langchain_core.prompts import ChatPromptTemplate

from langchain_kit import load, results, scenario, simple, skill, system_text, times
from skillbelt import MappingSource, SkillError, SkillRouter
from skillbelt.langchain import prompt_template_text
from skillbelt.langchain.prompts import system_message

FORMATS = ["f-string", "jinja2", "mustache"]


@pytest.fixture
def router(tmp_path):
    return SkillRouter.from_directory(scenario("C04", tmp_path))


def test_c04_an_agent_is_sent_one_catalog_with_one_line_an_entry_and_every_brace(router):
    story = simple([[load("box-two")], "done"], router)
    story.say("go")
    whole = "".join(system_text(request) for request in story.requests[:1])
    assert whole.count("<available_skills>") == whole.count("</available_skills>") == 1
    lines = whole.partition("<available_skills>")[2].partition("</available_skills>")[0].strip().splitlines()
    assert len(lines) == 3 and all(line.startswith("<skill name=") for line in lines)
    assert "Fill {width} by {} boxes, don't stack &lt;3 &amp; more." in whole
    assert "First line second line" in whole
    assert not re.search(r"^SYSTEM:", whole, re.MULTILINE)
    assert "Use {width} and {{height}} as is." in results(story.last)[0].content
    assert times(story.last, "</available_skills>") == 1


@pytest.mark.parametrize("template_format", FORMATS)
def test_c04_a_prompt_template_keeps_the_braces_of_skills_and_its_own_variables(router, template_format):
    variable = "{who}" if template_format == "f-string" else "{{who}}"
    text = prompt_template_text(router, f"You help {variable}.", template_format=template_format)
    prompt = ChatPromptTemplate([("system", text), ("human", "hi")], template_format=template_format)
    system = prompt.invoke({"who": "Ada"}).messages[0].content
    assert system == router.prompt("You help Ada.")
    assert prompt.input_variables == ["who"]


def test_the_slot_of_a_template_is_filled_and_without_skills_it_stays_as_it_was(router):
    text = prompt_template_text(router, "Before {skills} after {x}.")
    message = ChatPromptTemplate([("system", text)]).invoke({"x": "all"}).messages[0]
    assert message.content == f"Before {router.prompt()} after all."
    empty = SkillRouter(MappingSource({}))
    for template_format in FORMATS:
        assert prompt_template_text(empty, "You help.", template_format=template_format) == "You help."
    assert prompt_template_text(empty, "a{skills}b") == "ab"
    assert prompt_template_text(router) == router.prompt().replace("{", "{{").replace("}", "}}")


def test_a_message_passes_through_a_template_as_it_is(router):
    prompt = ChatPromptTemplate([system_message(router, "You help."), ("human", "{question}")])
    assert prompt.invoke({"question": "?"}).messages[0].content == router.prompt("You help.")


@pytest.mark.parametrize(
    ("template_format", "description"), [("jinja2", "Ends {%- endraw %} early."), ("mustache", "Holds {{ braces }}.")]
)
def test_what_a_format_cannot_hold_is_refused_with_a_way_out(template_format, description):
    files = {"x/SKILL.md": skill("x").replace("Does x.", f"'{description}'")}
    router = SkillRouter(MappingSource(files))
    with pytest.raises(SkillError, match="Use system_message"):
        prompt_template_text(router, template_format=template_format)
    prompt = ChatPromptTemplate([system_message(router)], template_format=template_format)
    assert description in prompt.invoke({}).messages[0].content
