"""The same story through both frameworks: a model is sent the same catalog and the same tool results, byte for byte."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from llama_index.core.agent.workflow import FunctionAgent

from skillbelt import langchain as lc
from skillbelt import llama_index as li
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

CALLS = [
    ("load_skill", {"name": "mail-sorter"}),
    ("load_skill", {"name": "mail-sortr"}),
    ("load_skill", {"name": "pdf-forms", "arguments": "form 7"}),
    ("load_skill", {"nam": "pdf-forms"}),
    ("load_skill", {"name": "pdf-forms", "self": 1}),
    ("read_skill_resource", {"name": "mail-sorter", "path": "references/rules.md"}),
    ("read_skill_resource", {"name": "mail-sorter", "path": "../x"}),
]


async def test_catalogs_schemas_and_tool_results_are_the_same_bytes_in_both_frameworks(router):
    chat = ScriptedChatModel(
        steps=[
            *(
                AIMessage(content="", tool_calls=[{"name": n, "args": a, "id": f"c{i}", "type": "tool_call"}])
                for i, (n, a) in enumerate(CALLS)
            ),
            "done",
        ]
    )
    create_agent(chat, middleware=[lc.SkillsMiddleware(router)]).invoke({"messages": [HumanMessage("hi")]})
    llm = ScriptedLLM(steps=[*([call] for call in CALLS), "done"])
    await FunctionAgent(tools=li.skill_tools(router), system_prompt=router.prompt(), llm=llm).run("hi")

    ours = [m for m in chat.requests[-1].messages if isinstance(m, ToolMessage)]
    theirs = [m for m in llm.requests[-1].messages if m.role.value == "tool"]
    assert [m.content for m in ours] == [m.content for m in theirs]
    assert len(ours) == len(CALLS)

    (system,) = [m for m in chat.requests[0].messages if isinstance(m, SystemMessage)]
    (other,) = [m for m in llm.requests[0].messages if m.role.value == "system"]
    assert system.content[0]["text"] == other.content == router.prompt()

    mine = {t["function"]["name"]: t["function"] for t in chat.requests[0].tools}
    yours = {t["function"]["name"]: t["function"] for t in llm.requests[0].tools}
    assert mine.keys() == yours.keys()
    for name, tool in mine.items():
        assert tool["description"] == yours[name]["description"]
        assert tool["parameters"]["required"] == yours[name]["parameters"]["required"]
        assert tool["parameters"]["properties"].keys() == yours[name]["parameters"]["properties"].keys()
