"""One question to a LlamaIndex agent with skills, reported step by step from the events of the run."""

from __future__ import annotations

import asyncio

from skillbelt.cli.steps import Recorder
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from llama_index.core.agent.workflow import AgentInput, AgentOutput, FunctionAgent, ToolCallResult
    from llama_index.core.llms.llm import LLM

    from skillbelt.llama_index import skill_tools
except ImportError as error:
    raise MissingExtraError("--framework llama-index", extra="llama-index") from error

__all__ = ["run", "run_agent"]


def run(router: SkillRouter, question: str, *, base: str, model: LLM, recorder: Recorder) -> None:
    """Ask the agent and report to the recorder.

    Args:
        router: The skills.
        question: What the user wants.
        base: The agent's own system prompt.
        model: An LLM that calls functions.
        recorder: Takes the steps.
    """
    run_agent(
        FunctionAgent(tools=[*skill_tools(router)], system_prompt=router.prompt(base), llm=model), question, recorder
    )


def run_agent(agent: FunctionAgent, question: str, recorder: Recorder) -> None:
    """Ask an agent that was built already and report to the recorder.

    Args:
        agent: The agent.
        question: What the user wants.
        recorder: Takes the steps.
    """
    asyncio.run(_ask(agent, question, recorder))


async def _ask(agent: FunctionAgent, question: str, recorder: Recorder) -> None:
    handler = agent.run(user_msg=question)
    async for event in handler.stream_events():
        if isinstance(event, AgentInput):
            prompts = [message.content or "" for message in event.input if message.role == "system"]
            recorder.requested("\n\n".join(prompts))
        elif isinstance(event, AgentOutput):
            for call in event.tool_calls:
                recorder.called(call.tool_id, call.tool_name, call.tool_kwargs)
        elif isinstance(event, ToolCallResult):
            recorder.returned(event.tool_id, event.tool_output.content, failed=event.tool_output.is_error)
    result: AgentOutput = await handler
    recorder.answered(result.response.content or "")
