"""What the middleware does at every model call, beside a middleware that does nothing.

The handler is empty and the request is made beforehand, so what is left is the hook itself. An agent's own step, with
its graph and its message lists, takes two to three milliseconds.
"""

import time
from statistics import median
from typing import Any

from benchmarks import LIMITS, name, text
from skillbelt import MappingSource, SkillRouter

SIZES = (10, 1000, 10_000)
TURNS = (60, 600, 6000)
STATES = ("nothing in use", "in use", "put back")


class Runtime:
    """What the hooks need of a runtime."""

    context = None

    @staticmethod
    def stream_writer(fact):
        """Nobody listens."""


class Call:
    """A model call with so many messages; one skill in use, or none."""

    def __init__(self, skills, messages, state):
        from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

        from skillbelt.active import fingerprint, hold
        from skillbelt.langchain import SkillsMiddleware
        from skillbelt.testing import ScriptedChatModel

        class Empty(AgentMiddleware[Any, Any, Any]):
            def wrap_model_call(self, request, handler):
                return handler(request)

        router = SkillRouter(MappingSource({f"{name(n)}/SKILL.md": text(n) for n in range(skills)}, limits=LIMITS))
        self.ours, self.empty = SkillsMiddleware(router), Empty()
        wanted = name(skills // 2)
        activation = router.activate(wanted)
        _, held = hold(wanted, activation.skill.digest, fingerprint(activation.text), "call-0")
        talk = [HumanMessage("go", id="m0")]
        if state == "in use":
            talk += [
                AIMessage("", tool_calls=[{"name": "load_skill", "args": {"name": wanted}, "id": "call-0"}], id="m1"),
                ToolMessage(activation.text, tool_call_id="call-0", id="m2"),
            ]
        talk += [kind(f"turn {n}", id=f"t{n}") for n in range(messages // 2) for kind in (AIMessage, HumanMessage)]
        response = ModelResponse(result=[AIMessage("done")])
        self.handler = lambda request: response
        self.request = ModelRequest(
            model=ScriptedChatModel([]),
            messages=talk,
            system_message=SystemMessage("You are helpful."),
            tools=[*self.ours.tools],
            state={"messages": talk, "skills_held": {} if state == STATES[0] else {wanted: held}},
            runtime=Runtime(),
        )
        self.step()

    def step(self):
        return self.ours.wrap_model_call(self.request, self.handler)

    def limit(self):
        return self.empty.wrap_model_call(self.request, self.handler)


def micros(function, rounds=400):
    """Return the CPU time of one call, a median."""
    taken = []
    for _ in range(rounds):
        start = time.process_time_ns()
        function()
        taken.append(time.process_time_ns() - start)
    return median(taken) / 1000


class ModelCall:
    """By the number of skills: flat, for one block is kept ready."""

    params = (SIZES, STATES)
    param_names = ("skills", "state")

    def setup(self, skills, state):
        self.call = Call(skills, 60, state)

    def time_hook(self, skills, state):
        self.call.step()

    def time_limit(self, skills, state):
        self.call.limit()

    def track_micros_over_empty(self, skills, state):
        """Microseconds of CPU beyond an empty middleware; at most 50 are wanted."""
        return micros(self.call.step) - micros(self.call.limit)

    track_micros_over_empty.unit = "us beyond an empty middleware"


class Turns:
    """By the length of the conversation: flat but for the copy of a list when something is put back."""

    params = (TURNS, STATES)
    param_names = ("messages", "state")

    def setup(self, messages, state):
        self.call = Call(100, messages, state)

    def track_micros_over_empty(self, messages, state):
        """Microseconds of CPU beyond an empty middleware."""
        return micros(self.call.step) - micros(self.call.limit)

    track_micros_over_empty.unit = "us beyond an empty middleware"
