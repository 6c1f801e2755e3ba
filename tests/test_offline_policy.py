"""The rule-based model without a framework: skillbelt.testing.offline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy_skills as toy
from skillbelt import DirectorySource, MappingSource, SkillRouter, TokenBudget, skill_tools
from skillbelt.testing import Message, Reply, ToolCall, decide
from skillbelt.testing.offline import LABEL, MAX_ROUNDS
from skillbelt.tools import TOLD, failure_text

CHECKBOX = "How do I tick a checkbox when I complete a PDF form?"


def converse(
    *messages: Message, tools: Mapping[str, Callable[..., str]] = toy.TOOLS
) -> tuple[str, list[ToolCall], list[Message]]:
    """Run the loop an agent would run; return the answer, every call, and the whole conversation."""
    talk, calls = list(messages), []
    for _ in range(20):
        reply = decide(talk, set(tools))
        talk.append(Message("assistant", reply.text, reply.tool_calls))
        if not reply.tool_calls:
            return reply.text, calls, talk
        for call in reply.tool_calls:
            calls.append(call)
            talk.append(Message("tool", tools[call.name](**call.arguments), tool_call_id=call.id))
    raise AssertionError("The model never stopped calling tools.")


def ask(question: str, *, system: str = toy.SYSTEM, tools: Mapping[str, Callable[..., str]] = toy.TOOLS):
    answer, calls, _ = converse(Message("system", system), Message("user", question), tools=tools)
    return answer, [(call.name, dict(call.arguments)) for call in calls]


def loaded(question: str, **kwargs) -> list[str]:
    return [arguments["name"] for name, arguments in ask(question, **kwargs)[1] if name == "load_skill"]


# --- choosing a skill ---


def test_the_best_skill_is_loaded_then_the_files_that_fit_are_read_then_it_answers():
    answer, calls = ask(CHECKBOX)
    assert calls == [
        ("load_skill", {"name": "pdf-forms"}),
        ("read_skill_resource", {"name": "pdf-forms", "path": "references/checkboxes.md"}),
    ]
    assert answer.splitlines()[0] == LABEL
    assert "Skill used: pdf-forms" in answer
    assert "From references/checkboxes.md:\n| value | meaning |\n| /Yes | a ticked checkbox |" in answer


def test_the_answer_quotes_the_steps_of_the_section_that_fits():
    answer, _ = ask("Merge two PDF files, in which order?")
    assert "1. Sort the files.\n2. Join them." in answer
    assert "Map each value" not in answer


def test_a_skill_without_steps_is_answered_from_its_lines():
    assert "Greet by name." in ask("Please reply to this e-mail")[0]


def test_two_fitting_files_are_asked_for_in_one_message():
    question = Message("user", "PDF form: how do checkboxes work, and where does the format come from?")
    first = decide([Message("system", toy.SYSTEM), question], toy.TOOLS)
    opened = Message("tool", toy.load_skill("pdf-forms"), tool_call_id="call_1")
    second = decide(
        [Message("system", toy.SYSTEM), question, Message("assistant", "", first.tool_calls), opened], toy.TOOLS
    )
    assert [call.id for call in second.tool_calls] == ["call_2", "call_3"]
    assert [call.arguments["path"] for call in second.tool_calls] == [
        "references/checkboxes.md",
        "references/history.md",
    ]


@pytest.mark.parametrize("question", ["Write a haiku about autumn", "What can you do?", "Please create something new"])
def test_nothing_fits_so_it_says_so_and_names_skills(question):
    answer, calls = ask(question)
    assert calls == []
    assert "No skill in the catalog fits" in answer
    assert "pdf-forms, mail, deploy-to-staging" in answer


def test_a_verb_that_fits_every_skill_is_no_reason_to_load_one():
    system = '<available_skills>\n<skill name="mail">Writes mail.</skill>\n</available_skills>'
    assert loaded("Write a poem", system=system) == []
    assert loaded("Write a mail", system=system) == ["mail"]


def test_a_skill_named_in_full_wins_over_a_better_description():
    assert loaded("Use /deploy-to-staging to complete the PDF form fields") == ["deploy-to-staging"]


def test_names_and_descriptions_are_unescaped():
    system = '<available_skills>\n<skill name="a&quot;b/c">R&amp;D &lt;notes&gt;</skill>\n</available_skills>'
    assert loaded("r&d notes", system=system, tools={"load_skill": lambda name: "broken"}) == ['a"b/c']


def test_only_five_names_are_listed():
    many = "\n".join(f'<skill name="s{i}">x</skill>' for i in range(9))
    answer, _ = ask("zebra", system=f"<available_skills>\n{many}\n</available_skills>")
    assert "s0, s1, s2, s3, s4 and 4 more." in answer


def test_without_a_catalog_it_says_so():
    assert ask("Fill in a form", system="You help.") == (f"{LABEL}\nI was sent no skill catalog, so there is no "
                                                        "skill to choose.", [])  # fmt: skip


def test_without_a_question_it_says_so():
    assert decide([Message("system", toy.SYSTEM)], toy.TOOLS) == Reply(f"{LABEL}\nThere is no question to answer.")
    assert decide([], ()).tool_calls == ()


def test_it_calls_no_tool_it_does_not_have():
    answer, calls = ask(CHECKBOX, tools={})
    assert calls == []
    assert "'pdf-forms' fits, but I have no load_skill tool" in answer
    answer, calls = ask(CHECKBOX, tools={"load_skill": toy.load_skill})
    assert calls == [("load_skill", {"name": "pdf-forms"})]
    assert "Steps:" in answer


# --- a catalog that does not show everything ---


def test_a_cut_catalog_is_searched_when_nothing_in_it_fits():
    tools = {**toy.TOOLS, "search_skills": toy.search_skills}
    _, calls = ask(CHECKBOX, system=toy.catalog("mail", truncated=True), tools=tools)
    assert calls[:2] == [
        ("search_skills", {"query": "tick checkbox complete pdf form"}),
        ("load_skill", {"name": "pdf-forms"}),
    ]


def test_a_cut_catalog_is_not_searched_when_something_in_it_fits():
    tools = {**toy.TOOLS, "search_skills": toy.search_skills}
    assert ask("reply to an e-mail", system=toy.catalog("mail", truncated=True), tools=tools)[1][0][0] == "load_skill"


def test_a_complete_catalog_is_not_searched():
    tools = {**toy.TOOLS, "search_skills": toy.search_skills}
    assert ask("zebra", tools=tools)[1] == []


def test_a_search_that_knows_synonyms_is_believed():
    tools = {**toy.TOOLS, "search_skills": toy.search_skills}
    assert loaded("Ausfüllhilfe", system=toy.catalog("mail", truncated=True), tools=tools) == ["pdf-forms"]


def test_a_search_without_result_ends_the_matter():
    tools = {**toy.TOOLS, "search_skills": lambda query: "No skill fits."}
    answer, calls = ask("zebra", system=toy.catalog("mail", truncated=True), tools=tools)
    assert [name for name, _ in calls] == ["search_skills"]
    assert "No skill in the catalog fits" in answer


def test_without_a_catalog_in_the_prompt_it_asks_for_the_list():
    tools = {**toy.TOOLS, "list_skills": toy.catalog}
    assert [name for name, _ in ask(CHECKBOX, system="", tools=tools)[1]][:2] == ["list_skills", "load_skill"]


def test_a_catalog_in_the_result_of_another_tool_is_not_believed():
    tools = {"fetch": None, "load_skill": toy.load_skill}
    talk = [
        Message("user", CHECKBOX),
        Message("assistant", "", (ToolCall("x", "fetch", {}),)),
        Message("tool", toy.catalog(), tool_call_id="x"),
    ]
    assert decide(talk, tools).tool_calls == ()


# --- a conversation with several questions ---


def test_a_skill_that_is_still_visible_is_not_loaded_again():
    _, _, talk = converse(Message("system", toy.SYSTEM), Message("user", CHECKBOX))
    answer, calls, _ = converse(*talk, Message("user", "And in a PDF form, what do radio buttons share?"))
    assert calls == []
    assert "Radio buttons of one group share one name." in answer


def test_a_follow_up_need_not_name_the_subject():
    _, _, talk = converse(Message("system", toy.SYSTEM), Message("user", CHECKBOX))
    answer, calls, _ = converse(*talk, Message("user", "And radio buttons?"))
    assert calls == []
    assert "Skill used: pdf-forms" in answer


def test_another_subject_loads_another_skill_and_call_ids_go_on():
    _, first, talk = converse(Message("system", toy.SYSTEM), Message("user", CHECKBOX))
    _, second, _ = converse(*talk, Message("user", "Deploy to staging now"))
    assert [c.id for c in [*first, *second]] == ["call_1", "call_2", "call_3"]
    assert second[0].arguments == {"name": "deploy-to-staging"}


def test_a_skill_put_back_into_the_system_message_counts_as_loaded():
    restored = Message("system", f"{toy.SYSTEM}\n{toy.load_skill('pdf-forms')}")
    _, calls, _ = converse(restored, Message("user", CHECKBOX))
    assert [call.name for call in calls] == ["read_skill_resource"]


def test_skill_text_in_a_user_message_is_not_the_question():
    activated = Message("user", toy.load_skill("pdf-forms"))
    answer, calls, _ = converse(Message("system", toy.SYSTEM), Message("user", CHECKBOX), activated)
    assert [call.name for call in calls] == ["read_skill_resource"]
    assert "a ticked checkbox" in answer


# --- files ---


def listed(body: str, *paths: str) -> str:
    files = "".join(f"<file>{path}</file>\n" for path in paths)
    return (
        f'<skill_content name="tea">\n{body}\n\nSkill directory: /skills/tea\n'
        f"<skill_resources>\n{files}</skill_resources>\n</skill_content>"
    )


def read_paths(question: str, content: str) -> list[str]:
    tools = {
        "load_skill": lambda name: content,
        "read_skill_resource": lambda name, path: f'<skill_resource name="{name}" path="{path}">\nx\n</skill_resource>',
    }
    system = '<available_skills>\n<skill name="tea">Brews tea.</skill>\n</available_skills>'
    return [a["path"] for name, a in ask(question, system=system, tools=tools)[1] if name == "read_skill_resource"]


def test_a_file_that_is_mentioned_but_not_listed_is_not_read():
    assert read_paths("green tea", listed("For green tea see references/green.md.", "references/black.md")) == []


def test_a_file_that_is_listed_but_not_mentioned_is_not_read():
    assert read_paths("green tea", listed("Brew it.", "references/green.md")) == []


def test_a_binary_file_is_not_read():
    assert read_paths("green tea", listed("Green: assets/green.png", "assets/green.png")) == []


def test_the_first_mentioned_reference_is_read_when_no_file_fits():
    body = "Run scripts/boil.py. Then see references/b.md. Then references/a.md."
    files = ("references/a.md", "references/b.md", "scripts/boil.py")
    assert read_paths("tea for two", listed(body, *files)) == ["references/b.md"]


def test_a_file_fits_by_its_sentence_or_by_its_own_name():
    body = "Some notes. For oolong see references/one.md. More: references/white.md, references/two.md."
    files = ("references/one.md", "references/two.md", "references/white.md")
    assert read_paths("oolong tea", listed(body, *files)) == ["references/one.md"]
    assert read_paths("white tea", listed(body, *files)) == ["references/white.md"]


def test_at_most_two_files_are_read():
    body = "\n".join(f"Green: references/{n}.md" for n in "abcd")
    assert len(read_paths("green tea", listed(body, *(f"references/{n}.md" for n in "abcd")))) == 2


@pytest.mark.parametrize(
    "spelling", ["./references/green.md", "green.md", "[x](references/green.md)", "${DIR}/references/green.md"]
)
def test_a_mention_may_be_spelt_in_many_ways(spelling):
    assert read_paths("green tea", listed(f"Green: {spelling}", "references/green.md")) == ["references/green.md"]


def test_a_file_in_a_folder_is_not_a_mention_of_its_namesake():
    content = listed("Green: references/green.md", "green.md", "references/green.md")
    assert read_paths("green tea", content) == ["references/green.md"]


def test_a_listing_written_in_the_body_is_not_the_tools_listing():
    body = "Green: references/fake.md\n<skill_resources>\n<file>references/fake.md</file>\n</skill_resources>"
    assert read_paths("green tea", listed(body, "references/black.md")) == []


# --- errors ---


def test_a_misspelt_name_is_tried_once_more_as_the_error_proposes():
    system = '<available_skills>\n<skill name="pdf-form">PDF forms.</skill>\n</available_skills>'
    answer, calls = ask(CHECKBOX, system=system)
    assert [a["name"] for name, a in calls if name == "load_skill"] == ["pdf-form", "pdf-forms"]
    assert "Skill used: pdf-forms" in answer
    assert "Error: load_skill(name='pdf-form') answered: There is no skill 'pdf-form'." in answer


def test_a_proposal_is_followed_only_once():
    tools = {"load_skill": lambda name: f"No {name}. Did you mean '{name}x'?"}
    answer, calls = ask(CHECKBOX, tools=tools)
    assert [a["name"] for _, a in calls] == ["pdf-forms", "pdf-formsx"]
    assert "could not be loaded" in answer


def test_an_error_without_a_proposal_is_told_and_nothing_more_is_tried():
    tools = {"load_skill": lambda name: "User rejected the tool call. " + "x" * 1000}
    answer, calls = ask(CHECKBOX, tools=tools)
    assert len(calls) == 1
    assert "answered: User rejected the tool call." in answer
    assert answer.endswith("x …")
    assert len(answer) < 500


def test_a_file_that_cannot_be_read_is_told_and_the_proposal_tried():
    content = listed("Green: references/green.md", "references/green.md")
    tools = {
        "load_skill": lambda name: content,
        "read_skill_resource": lambda name, path: (
            f'<skill_resource name="tea" path="{path}">\nGreen at 80 degrees.\n</skill_resource>'
            if path == "references/Green.md"
            else "No such file. Did you mean 'references/Green.md'?"
        ),
    }
    system = '<available_skills>\n<skill name="tea">Brews tea.</skill>\n</available_skills>'
    answer, calls = ask("green tea", system=system, tools=tools)
    assert [a.get("path") for _, a in calls] == [None, "references/green.md", "references/Green.md"]
    assert "From references/Green.md:\nGreen at 80 degrees." in answer
    assert "Error: read_skill_resource(name='tea', path='references/green.md')" in answer


def test_a_call_that_nobody_answered_is_an_error_too():
    call = ToolCall("call_1", "load_skill", {"name": "mail"})
    answer = decide([Message("user", "mail"), Message("assistant", "", (call,))], toy.TOOLS).text
    assert "answered: nothing" in answer


# --- bounds ---


def test_it_answers_after_six_rounds_whatever_comes_back():
    rounds = [Message("assistant", "", (ToolCall(f"t{i}", "something", {}),)) for i in range(MAX_ROUNDS)]
    reply = decide([Message("system", toy.SYSTEM), Message("user", CHECKBOX), *rounds], toy.TOOLS)
    assert reply.tool_calls == ()
    assert "took 6 rounds already" in reply.text


def test_long_lines_and_many_steps_are_cut():
    body = "# T\n\n" + "\n".join(f"{i}. Green step {'y' * 400}" for i in range(1, 50))
    system = '<available_skills>\n<skill name="tea">Brews tea.</skill>\n</available_skills>'
    answer, _ = ask("green tea", system=system, tools={"load_skill": lambda name: listed(body)})
    assert answer.count("Green step") == 12
    assert max(map(len, answer.splitlines())) <= 200


def test_a_comment_in_a_code_block_is_not_a_heading():
    body = "Intro.\n\n```bash\n# green\nboil\n```\n\n## Green\n\nSteep.\n"
    system = '<available_skills>\n<skill name="tea">Brews tea.</skill>\n</available_skills>'
    answer, _ = ask("green tea", system=system, tools={"load_skill": lambda name: listed(body)})
    assert answer.endswith("Its instructions say:\n# green\nSteep.")


def quoted(question: str, body: str, *, path: str = "", text: str = "") -> str:
    content = listed(body, path) if path else listed(body)
    page = f'<skill_resource name="tea" path="{path}">\n{text}\n</skill_resource>'
    tools = {"load_skill": lambda name: content, "read_skill_resource": lambda name, path: page}
    return ask(question, system='<available_skills>\n<skill name="tea">Tea.</skill>\n</available_skills>', tools=tools)[
        0
    ]


def test_wrapped_lines_are_quoted_whole():
    body = (
        "1. Heat the water\n   to 80 degrees.\n2. Pour.\n\nGreen leaves\nneed less.\nBlack | more\n| green |\ngreen end"
    )
    assert quoted("green tea", body).splitlines()[3:] == [
        "Steps:",
        "1. Heat the water to 80 degrees.",
        "2. Pour.",
        "",
        "Its instructions say:",
        "Green leaves need less. Black | more",
        "| green |",
        "green end",
    ]


def test_lines_of_code_are_quoted_one_by_one():
    answer = quoted("green tea", "Green: scripts/x.py", path="scripts/x.py", text="# green\nboil()\n\nsteep('green')")
    assert answer.endswith("From scripts/x.py:\n# green\nsteep('green')")


def test_two_words_find_a_file_named_by_both():
    body = "See references/boiling.md and references/teapot.md."
    assert read_paths("my tea pot", listed(body, "references/boiling.md", "references/teapot.md")) == [
        "references/teapot.md"
    ]


def test_the_same_conversation_gets_the_same_answer():
    assert ask(CHECKBOX) == ask(CHECKBOX)


FRAGMENTS = st.sampled_from(
    [
        *("<available_skills>", '<skill name="tea">', "</skill>", "<skill_content name=", "</skill_content>"),
        *("Did you mean '", "tea'", "<skill_resources>", "<file>a.md</file>", "tea a.md", "<truncated>", "1. x"),
        *("```", "\n", "?"),
    ]
)
TEXT = st.lists(FRAGMENTS | st.text(max_size=8), max_size=12).map("".join)


@given(TEXT, TEXT, TEXT)
def test_any_texts_end_in_an_answer_that_says_what_it_is(system, question, result):
    tools = dict.fromkeys(("load_skill", "read_skill_resource", "search_skills", "list_skills"), lambda **_: result)
    answer, _, _ = converse(Message("system", system), Message("user", question), tools=tools)
    assert answer.splitlines()[0] == LABEL


# --- the real texts ---


def real_tools(router: SkillRouter) -> dict[str, Callable[..., str]]:
    return {spec.name: partial(_text, spec) for spec in skill_tools(router)}


def _text(spec, **arguments: str) -> str:
    try:
        return spec.call(**arguments).text
    except TOLD as error:
        return failure_text(error)


@pytest.mark.parametrize("on_disk", [True, False])
def test_the_texts_of_the_real_tools_are_understood(tmp_path, on_disk):
    source = MappingSource(toy.as_files())
    if on_disk:
        for path, text in toy.as_files().items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        source = DirectorySource(tmp_path)
    router = SkillRouter(source)
    tools = real_tools(router)
    answer, calls = ask(CHECKBOX, system=router.prompt("You help."), tools=tools)
    assert (answer, calls) == ask(CHECKBOX)


def test_the_real_error_texts_are_understood():
    router = SkillRouter(MappingSource(toy.as_files()))
    tools = real_tools(router)
    system = '<available_skills>\n<skill name="pdf-form">PDF forms.</skill>\n</available_skills>'
    assert loaded(CHECKBOX, system=system, tools=tools) == ["pdf-form", "pdf-forms"]


def test_the_real_cut_catalog_is_searched():
    files = {f"a{i:03}/SKILL.md": f"---\nname: a{i:03}\ndescription: Nothing {i}.\n---\nx" for i in range(400)}
    router = SkillRouter(MappingSource({**files, **toy.as_files()}), budget=TokenBudget(300))
    tools = real_tools(router)
    assert "search_skills" in tools
    assert "pdf-forms" not in router.prompt()
    assert ask(CHECKBOX, system=router.prompt(), tools=tools)[1][:2] == [
        ("search_skills", {"query": "tick checkbox complete pdf form"}),
        ("load_skill", {"name": "pdf-forms"}),
    ]


# --- the package ---


def test_importing_the_testing_package_imports_no_framework():
    code = (
        "import sys, skillbelt.testing as t; t.decide; 'OfflineLLM' in dir(t) or sys.exit(2)\n"
        "sys.exit(any(m.split('.')[0] in ('langchain', 'langchain_core', 'llama_index') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("OfflineChatModel", "langchain_core", "langchain"),
        ("ScriptedLLM", "llama_index", "llama-index"),
    ],
)
def test_a_missing_framework_is_named_with_the_line_that_installs_it(name, package, extra):
    code = f"import sys; sys.modules['{package}'] = None\nimport skillbelt.testing as t\nt.{name}"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "MissingExtraError" in run.stderr
    assert f'pip install "skillbelt[{extra}]"' in run.stderr


def test_a_name_the_package_does_not_have_is_an_attribute_error():
    import skillbelt.testing

    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        skillbelt.testing.Nothing  # noqa: B018
    assert set(skillbelt.testing.__all__) <= set(dir(skillbelt.testing))
