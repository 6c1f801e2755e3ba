"""The limits of a run in LangChain: a middleware that counts calls of the model and watches the clock.

A run is one ``invoke``, ``stream`` or their async forms; a run that is resumed after an interrupt counts afresh. What
is sent to the model stays as it is.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, TypeVar

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langgraph.channels.untracked_value import UntrackedValue

from skillbelt.agents.bounds import too_late, too_many

__all__ = ["RunLimits"]

_T = TypeVar("_T")


class _State(AgentState[Any]):
    """Not in checkpoints: a run that was interrupted may wait for a person for days."""

    skillbelt_calls: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]
    skillbelt_end: NotRequired[Annotated[float, UntrackedValue, PrivateStateAttr]]


class RunLimits(AgentMiddleware[Any, Any, Any]):
    """Ends a run that calls the model too often or takes too long, with an ``AgentLimitError``.

    It must be the first of the middlewares, so that it waits for all the others. A synchronous call of a model or a
    tool that is late goes on in a thread that nobody waits for; Python cannot end it.

    Args:
        model_calls: Calls of the model in one run.
        deadline: Seconds from the first call of the model on; ``None`` for no bound.
    """

    state_schema = _State

    def __init__(self, model_calls: int, deadline: float | None) -> None:
        super().__init__()
        self.model_calls = model_calls
        self.deadline = deadline

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Count the call that is to come."""
        calls = state.get("skillbelt_calls", 0)
        if calls >= self.model_calls:
            raise too_many(self.model_calls)
        update: dict[str, Any] = {"skillbelt_calls": calls + 1}
        if self.deadline is not None and "skillbelt_end" not in state:
            update["skillbelt_end"] = time.monotonic() + self.deadline
        return update

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Count the call that is to come."""
        return self.before_model(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model for as long as there is time."""
        return self._within(request.state, lambda: handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model for as long as there is time."""
        return await self._awithin(request.state, lambda: handler(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Call a tool for as long as there is time."""
        return self._within(request.state, lambda: handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Call a tool for as long as there is time."""
        return await self._awithin(request.state, lambda: handler(request))

    def _left(self, state: Any) -> float:
        """Return the seconds that are left; all of them when a resumed run begins with a tool."""
        allowed = self.deadline or 0.0
        left = float(state.get("skillbelt_end", time.monotonic() + allowed)) - time.monotonic()
        if left <= 0:
            raise too_late(allowed)
        return left

    def _within(self, state: Any, call: Callable[[], _T]) -> _T:
        if self.deadline is None:
            return call()
        left = self._left(state)
        done: list[_T] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                done.append(call())
            except BaseException as error:  # whatever it is, it belongs to who waits
                failed.append(error)

        # The context carries the run's callbacks and its stream.
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
        thread.start()
        thread.join(left)
        if failed:
            raise failed[0]
        if not done:
            raise too_late(self.deadline)
        return done[0]

    async def _awithin(self, state: Any, call: Callable[[], Awaitable[_T]]) -> _T:
        if self.deadline is None:
            return await call()
        timer = asyncio.timeout(self._left(state))
        try:
            async with timer:
                return await call()
        except TimeoutError:
            if timer.expired():
                raise too_late(self.deadline) from None
            raise
