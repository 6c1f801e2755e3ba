"""Steps about skills in use in a LangChain agent."""

import re

from behave import given, then, when
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from skillbelt.langchain import SkillsMiddleware
from skillbelt.testing import ScriptedChatModel

CONFIG = {"configurable": {"thread_id": "story"}}


def _agent(context, steps, middleware, tools=()):
    context.model = ScriptedChatModel(steps)
    context.agent = create_agent(
        context.model,
        tools=[*tools],
        middleware=middleware,
        checkpointer=InMemorySaver(),
        system_prompt="You are a clerk.",
    )


def _say(context, words):
    context.state = context.agent.invoke({"messages": [HumanMessage(words)]}, CONFIG)


def _texts(request):
    return [str(message.content) for message in request.messages]


def _count(request, words):
    return sum(text.count(words) for text in _texts(request))


@given("an agent with skills and a summary after {number:d} messages, skills {order}")
def _(context, number, order):
    writer = ScriptedChatModel(["SUMMARY"] * 20)
    summary = SummarizationMiddleware(writer, trigger=("messages", number), keep=("messages", 2))
    ours = SkillsMiddleware(context.router)
    context.middleware = [ours, summary] if order == "first" else [summary, ours]


@given("an agent with skills")
def _(context):
    context.middleware = [SkillsMiddleware(context.router)]


@given('an agent with the tools "look" and "touch" whose allowed-tools are "{mode}"')
def _(context, mode):
    context.ran = []

    def look() -> str:
        """Look."""
        context.ran.append("look")
        return "seen"

    def touch() -> str:
        """Touch."""
        context.ran.append("touch")
        return "touched"

    context.tools = [StructuredTool.from_function(one) for one in (look, touch)]
    context.middleware = [SkillsMiddleware(context.router, allowed_tools=mode)]


@when('the model loads "{name}" and the user asks {number:d} more questions')
def _(context, name, number):
    _agent(context, [[("load_skill", {"name": name})], "loaded", *["answer"] * number], context.middleware)
    for turn in range(number + 1):
        _say(context, f"question {turn}")


@when('the model loads "{name}" and the user writes {number:d} times')
def _(context, name, number):
    _agent(context, [[("load_skill", {"name": name})], "loaded", *["answer"] * number], context.middleware)
    for _turn in range(number + 1):
        _say(context, context.text)


@when('the model loads "{name}" and then calls "look" and "touch"')
def _(context, name):
    steps = [[("load_skill", {"name": name})], [("look", {}), ("touch", {})], "done"]
    _agent(context, steps, context.middleware, context.tools)
    _say(context, "go")


@when('the user writes "{words}"')
def _(context, words):
    _agent(context, ["done"], context.middleware)
    _say(context, words)


@when('the model loads "{name}" twice in one message')
def _(context, name):
    _agent(context, [[("load_skill", {"name": name})] * 2, "done"], context.middleware)
    _say(context, "go")


@then('every request after the summary holds "{words}" once, after the summary')
def _(context, words):
    after = [request for request in context.model.requests if _count(request, "SUMMARY")]
    assert len(after) >= 3, len(context.model.requests)
    for request in after:
        texts = _texts(request)
        assert _count(request, words) == 1, texts
        places = [next(n for n, text in enumerate(texts) if sought in text) for sought in ("SUMMARY", words)]
        assert places[0] < places[1], texts
    context.after = after


@then("it says that the skill is already in use")
def _(context):
    assert all(_count(request, "is already in use") for request in context.after)


@then("no call is without its result")
def _(context):
    for request in context.model.requests:
        calls = [call["id"] for m in request.messages if isinstance(m, AIMessage) for call in m.tool_calls]
        answers = [m.tool_call_id for m in request.messages if isinstance(m, ToolMessage)]
        assert calls == answers, (calls, answers)


@then('"{tool}" ran')
def _(context, tool):
    assert tool in context.ran, context.ran


@then('"{tool}" did not run, and the answer names "{skill}"')
def _(context, tool, skill):
    assert tool not in context.ran
    answer = next(m for m in context.state["messages"] if isinstance(m, ToolMessage) and m.name == tool)
    assert answer.status == "error"
    assert re.search(rf"\b{skill}\b", answer.content), answer.content


@then('the {which} request holds "{words}" once')
def _(context, which, words):
    request = context.model.requests[0 if which == "first" else -1]
    assert _count(request, words) == 1, _texts(request)


@then('the skills in use are "{names}"')
def _(context, names):
    assert [record["name"] for record in context.state["active_skills"]] == names.split(", ")
