"""SkillReActAgent: skills for LLMs that call tools by text, and agents that write code."""

import contextlib
import io

import pytest
from llama_index.core.agent import ReActChatFormatter
from llama_index.core.agent.react.prompts import REACT_CHAT_SYSTEM_HEADER
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, ReActAgent
from llama_index.core.base.llms.types import MessageRole
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.prompts import PromptTemplate

from llama_index_kit import (
    NOTES,
    Story,
    answer,
    fenced,
    look,
    react,
    router_of,
    skill,
    text_of,
    texts,
    times,
    write_note,
)
from skillbelt import MappingSource, SkillNotFoundError, SkillRouter
from skillbelt.llama_index import SkillReActAgent, Skills, SkillsMemoryBlock, skill_tools
from skillbelt.restoring import Restore
from skillbelt.testing import ScriptedLLM

BODY = "\n".join(f"Rule {number}: keep the kettle on." for number in range(40))


@pytest.fixture(autouse=True)
def _nothing_ran():
    NOTES.clear()


def reacting(steps, skills, *, tools=(), memory=None, **options):
    """A story with a SkillReActAgent."""
    of_agent = {key: options.pop(key) for key in ("system_prompt", "formatter") if key in options}
    of_agent.setdefault("system_prompt", "You are a clerk.")
    llm = ScriptedLLM(steps)
    known = skills if isinstance(skills, Skills) else Skills(skills, **options)
    agent = SkillReActAgent(skills=known, tools=[*tools], llm=llm, **of_agent)
    return Story(agent, llm, memory=memory, skills=known)


def short():
    return ChatMemoryBuffer.from_defaults(token_limit=400)


async def test_the_system_text_is_exact_in_each_step_and_the_skill_comes_as_an_observation():
    router = router_of(rule=BODY)
    story = reacting([react("load_skill", name="rule"), answer()], router, tools=[look])
    assert await story.say("go") == "done"
    for request in story.requests:
        system = text_of(request.messages[0])
        assert system.count(router.prompt("You are a clerk.")) == 1
        assert system.count("<available_skills>") == 1
        assert "> Tool Name: load_skill" in system and "> Tool Name: look" in system
    assert texts(story.last)[-1] == f"Observation: {router.activate('rule').text}"
    assert await story.active() == ["rule"]


async def test_a_second_load_is_a_note_and_a_text_that_left_the_memory_is_put_back_once():
    router = router_of(rule=BODY)
    steps = [react("load_skill", name="rule"), react("load_skill", name="rule"), answer()]
    story = reacting(
        [*steps, *[answer("line " * 60)] * 5, react("load_skill", name="rule"), answer()], router, memory=short()
    )
    await story.say("load it")
    assert "is loaded already" in texts(story.last)[-1]
    assert times(story.last, "</skill_content>") == 1
    for turn in range(5):
        await story.say(f"turn {turn}")
        assert times(story.last, "</skill_content>") == 1
    assert times(story.last, "is already in use") == 1
    await story.say("again")
    assert "is loaded already" in texts(story.last)[-1]


async def test_a_text_remembered_as_part_of_one_message_is_found_there_and_taken_out_when_unloaded():
    router = router_of(rule=BODY, other="Other text.")
    steps = [react("load_skill", name="rule"), react("look", at="x"), react("load_skill", name="other"), answer()]
    more = [react("load_skill", name="rule"), react("unload_skill", name="rule"), answer(), answer()]
    story = reacting([*steps, *more], router, tools=[look], unload=True)
    await story.say("load it")
    await story.say("and out")
    first, second, third = story.requests[-3:]
    assert "is loaded already" in texts(second)[-1], "it stands in the message that remembers the first run"
    assert times(first, "kettle on.\nRule 1:") == 1
    assert times(third, "kettle") == 0 and times(third, "were unloaded") == 1
    assert times(third, "Other text.") == 1 and times(third, "saw x") == 1
    await story.say("still out")
    assert times(story.last, "kettle") == 0


async def test_an_observation_of_the_running_run_is_taken_out_too_and_a_changed_text_replaced(tmp_path):
    file = tmp_path / "rule" / "SKILL.md"
    file.parent.mkdir()
    file.write_text(skill("rule", "First text."))

    def change(_):
        file.write_text(skill("rule", "Second text."))
        return react("look", at="x")

    router = SkillRouter.from_directory(tmp_path)
    steps = [react("load_skill", name="rule"), change, react("unload_skill", name="rule"), answer()]
    story = reacting(steps, router, tools=[look], unload=True, restore=Restore(fresh=0.0))
    await story.say("go")
    replaced, unloaded = story.requests[2:]
    assert times(replaced, "First text.") == 0 and times(replaced, "Second text.") == 1
    assert "Observation: [An older text of the skill rule" in "\n".join(texts(replaced))
    assert times(unloaded, "Second text.") == 0


async def test_the_fence_holds_and_what_is_called_as_a_tool_is_explained():
    steps = [
        react("load_skill", name="strict"), react("write_note", text="x"), react("strict"), react("look", at="x"),
        answer(),
    ]  # fmt: skip
    story = reacting(steps, fenced(("strict", "look")), tools=[look, write_note], allowed_tools="enforce")
    await story.say("go")
    sent = texts(story.last)
    assert NOTES == []
    assert any("write_note was not run" in text for text in sent)
    assert any('strict is a skill, not a tool. Call load_skill with name "strict"' in text for text in sent)
    assert "Observation: saw x" in sent


@pytest.mark.parametrize(
    ("formatter", "prompt", "expected"),
    [
        (None, "You are.", "You are.\n\n{section}"),
        (None, None, "{section}"),
        (ReActChatFormatter.from_defaults(context="House rules."), "You are.", "You are.\n\n{section}\n\nHouse rules."),
        (ReActChatFormatter.from_defaults(context="House rules."), None, "{section}\n\nHouse rules."),
        (ReActChatFormatter(system_header="Tools: {tool_desc} {tool_names}. {context}!"), "Be.", "Be.\n\n{section}!"),
        (ReActChatFormatter(system_header="Tools: {tool_desc} {tool_names}."), "Be.", ".\n\nBe.\n\n{section}"),
    ],
)
async def test_whatever_the_formatter_the_system_text_is_in_the_header_once(formatter, prompt, expected):
    router = router_of("alpha")
    story = reacting([answer()], router, formatter=formatter, system_prompt=prompt)
    await story.say("go")
    (system,) = [text_of(m) for m in story.last.messages if m.role == MessageRole.SYSTEM]
    assert expected.replace("{section}", router.prompt()) in system
    assert system.count("<available_skills>") == 1
    assert "{" not in system.replace(router.prompt(), "").partition("Args:")[0] or "tool_desc" not in system


async def test_without_skills_and_prompt_the_header_is_llama_indexs_own_also_one_with_a_slot(empty_router):
    story = reacting([answer(), answer()], empty_router, system_prompt=None, tools=[look])
    await story.say("go")
    plain = ReActChatFormatter(system_header=REACT_CHAT_SYSTEM_HEADER).format(story.agent.tools[:1], [])
    assert text_of(story.last.messages[0]) == text_of(plain[0])
    slot = ReActChatFormatter(system_header="T {tool_desc} {tool_names} [{context}]")
    story = reacting([answer()], empty_router, system_prompt=None, formatter=slot)
    await story.say("go")
    assert text_of(story.last.messages[0]) == "T   []"


async def test_a_prompt_that_is_updated_later_is_used_and_a_formatter_alone_is_the_hosts():
    router = router_of("alpha")
    story = reacting([answer()], router)
    story.agent.update_prompts({"react_header": PromptTemplate("New header. {tool_names}")})
    await story.say("go")
    assert text_of(story.last.messages[0]).startswith("New header.")
    assert router.prompt("You are a clerk.") in text_of(story.last.messages[0])
    alone = SkillReActAgent(skills=router, llm=ScriptedLLM([])).formatter.format([], [])
    assert "<available_skills>" not in text_of(alone[0])


async def test_a_user_activates_a_skill_with_a_slash_here_too_and_pictures_are_left_out():
    files = {"a/SKILL.md": skill("a", "Body of a."), "a/logo.png": b"\x89PNG\r\n\x1a\n picture"}
    show = react("read_skill_resource", name="a", path="logo.png")
    story = reacting([show, answer()], SkillRouter(MappingSource(files)), media=True)
    await story.say("/a")
    assert times(story.requests[0], "Body of a.") == 1
    assert "You cannot be shown pictures" in texts(story.last)[-1]


async def test_react_agents_hand_over_in_a_workflow():
    router = router_of(rule=BODY)
    first = ScriptedLLM([react("load_skill", name="rule"), react("handoff", to_agent="clerk", reason="x")])
    second = ScriptedLLM([answer()])
    front = SkillReActAgent(skills=router, name="front", description="Talks.", llm=first, tools=[])
    clerk = SkillReActAgent(skills=router, name="clerk", description="Works.", llm=second, tools=[])
    story = Story(AgentWorkflow(agents=[front, clerk], root_agent="front"), second)
    assert await story.say("go") == "done"
    assert times(second.requests[0], "</skill_content>") == 1
    assert await story.active() == ["rule"]


@pytest.mark.parametrize("restore", ["off", "pair"])
async def test_what_is_put_back_is_a_message_or_nothing(restore):
    router = router_of(rule=BODY)
    steps = [react("load_skill", name="rule"), answer(), *[answer("line " * 60)] * 5]
    story = reacting(steps, router, memory=short(), restore=restore)
    await story.say("load it")
    for turn in range(5):
        await story.say(f"turn {turn}")
    assert times(story.last, "</skill_content>") == (restore == "pair")
    if restore == "pair":
        assert [m.role for m in story.last.messages if "</skill_content>" in text_of(m)] == [MessageRole.USER]


# --- other agents -----------------------------------------------------------------------------------------------------


async def test_a_plain_react_agent_with_a_memory_block_keeps_its_skills():
    router = router_of(rule=BODY)
    skills = Skills(router)
    steps = [react("load_skill", name="rule"), react("load_skill", name="rule"), answer(), *[answer("line " * 60)] * 5]
    llm = ScriptedLLM(steps)
    memory = Memory.from_defaults(token_limit=400, token_flush_size=1, memory_blocks=[SkillsMemoryBlock(skills)])
    # Without a prompt of its own a ReActAgent takes the first system message, the catalog, for it and drops it.
    agent = ReActAgent(tools=skills.tools([look]), llm=llm, system_prompt="You are a clerk.")
    story = Story(agent, llm, memory=memory, skills=skills)
    await story.say("load it")
    assert "is loaded already" in texts(story.last)[-1]
    for turn in range(5):
        await story.say(f"turn {turn}")
        assert times(story.last, "</skill_content>") == 1
    assert times(story.last, "<available_skills>") == 1


class Python:
    """Runs the code of a CodeActAgent: the smallest executor that keeps its variables. Tests trust their code."""

    def __init__(self, **functions):
        self.scope = functions

    async def run(self, code: str) -> str:
        """Run code."""
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(code, self.scope)
        except Exception as error:  # what the model is told
            return f"{out.getvalue()}{type(error).__name__}: {error}"
        return out.getvalue()


async def test_a_code_act_agent_calls_the_tools_as_functions():
    router = router_of(rule="Fill in {width} and $ARGUMENTS.")
    tools = skill_tools(router)
    python = Python(**{tool.metadata.name: tool.real_fn for tool in tools})
    llm = ScriptedLLM(
        [
            "<execute>text = load_skill('rule', arguments='7')\nprint(text)</execute>",
            "<execute>load_skill('rul')</execute>",
            "<execute>print(read_skill_resource(name='rule', path='x.md'))</execute>",
            "done",
        ]
    )
    agent = CodeActAgent(
        code_execute_fn=python.run, tools=[*tools], system_prompt=router.prompt("You are a clerk."), llm=llm
    )
    assert str(await agent.run("go")) == "done"
    system = text_of(llm.requests[0].messages[0])
    assert "def load_skill(name: str, arguments: str | None = None) -> str:" in system
    assert "Name of a skill, as the catalog gives it." in system
    assert router.catalog().text in system
    loaded, missed, unread = [text_of(m) for m in llm.requests[-1].messages if m.role == MessageRole.USER][1:]
    assert "Fill in {width} and 7." in loaded
    assert "SkillNotFoundError: There is no skill 'rul'. Did you mean 'rule'?" in missed
    assert "ResourceNotFoundError" in unread
    with pytest.raises(SkillNotFoundError):
        tools[0].real_fn("rul")
