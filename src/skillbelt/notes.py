"""What a model is told about skills in use: the short sentences around their texts, in one place.

:class:`Notes` is the part of :class:`~skillbelt.render.Renderer` that speaks of a conversation; a host that wants other
words overrides its methods there. It keeps no state and judges nothing: whether a skill is in use, present or refused
is decided in :mod:`skillbelt.active`, :mod:`skillbelt.restoring` and :mod:`skillbelt.fence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skillbelt.text import inline

__all__ = ["Notes"]

_LISTED = 40
_LONGEST = 120


class Notes:
    """Sentences about skills in use. Names in them are made fit to show; texts of skills never stand in them."""

    __slots__ = ()

    # --- a skill that is in use -----------------------------------------------------------------------------------

    def repeated(self, name: str) -> str:
        """Return the answer to a second load while the text is still there.

        Args:
            name: The skill.
        """
        return (
            f"The skill {_said(name)} is loaded already and has not changed: its instructions stand above. "
            "Follow them; there is nothing to load again."
        )

    def same_message(self, name: str) -> str:
        """Return the answer to the second of two equal loads in one message.

        Args:
            name: The skill.
        """
        return f"The skill {_said(name)} is loaded by another call of the same message; its instructions stand there."

    def in_use(self, name: str, *, changed: bool = False) -> str:
        """Return the line before a text that is put back after older messages were removed.

        Args:
            name: The skill.
            changed: Whether its text is another one than the one that was loaded.
        """
        news = " Its text has changed since then; this is the current one." if changed else ""
        return (
            f"[The skill {_said(name)} is already in use: it was loaded earlier in this conversation, in messages that "
            f"have been removed since.{news} Its instructions follow. Go on from where you are; "
            "do not start over and do not repeat steps that are done.]"
        )

    def changed(self, name: str) -> str:
        """Return the line before a text that replaces one that is still there.

        Args:
            name: The skill.
        """
        return (
            f"[The skill {_said(name)} was changed after it was loaded. "
            "This is its current text; it replaces the one you followed before.]"
        )

    def stale(self, name: str) -> str:
        """Return the answer to a request for a file of a skill that was changed after it was loaded.

        Args:
            name: The skill.
        """
        return (
            f"[The skill {_said(name)} was changed after it was loaded, so this file may not be the one its "
            "instructions speak of. Call load_skill again, then read the file.]"
        )

    def chosen(self, name: str, *, by: str = "user") -> str:
        """Return the line before a text that came without a call of the model.

        Args:
            name: The skill.
            by: ``"user"`` when the user named it in a message, ``"host"`` when the application chose it.
        """
        who = f"The user chose the skill {_said(name)} with /{_said(name)}"
        if by != "user":
            who = f"The skill {_said(name)} is in use from the start"
        return f"[{who}. Its instructions follow; they need not be loaded.]"

    def chosen_again(self, name: str) -> str:
        """Return what stands for the text when the user names a skill that is loaded already.

        Args:
            name: The skill.
        """
        return f"[The user chose the skill {_said(name)} again; its instructions stand above, unchanged.]"

    def left_out(self, names: Iterable[str]) -> str:
        """Return the line for skills in use whose texts did not fit.

        Args:
            names: The skills.
        """
        return (
            f"[Also in use, but left out for lack of room: {_list(names)}. "
            "Call load_skill before you follow one of them again.]"
        )

    def gone(self, name: str) -> str:
        """Return the line for a skill that was in use and cannot be read any more.

        Args:
            name: The skill.
        """
        return f"[The skill {_said(name)} was in use and is no longer available. Go on without it.]"

    # --- ending the use -------------------------------------------------------------------------------------------

    def unloaded(self, name: str) -> str:
        """Return what stands in place of the text of a skill that was unloaded.

        Args:
            name: The skill.
        """
        return f"[The instructions of the skill {_said(name)} were unloaded. Call load_skill to read them again.]"

    def older(self, name: str) -> str:
        """Return what stands in place of a text of a skill that was loaded again since.

        Args:
            name: The skill.
        """
        return f"[An older text of the skill {_said(name)} stood here. It was loaded again since; follow that one.]"

    def unload(self, name: str, *, active: bool) -> str:
        """Return the answer to ``unload_skill``.

        Args:
            name: The skill.
            active: Whether it was in use.
        """
        if active:
            return f"The skill {_said(name)} is no longer in use. Its instructions do not apply from here on."
        return f"The skill {_said(name)} is not in use; there is nothing to unload."

    def too_many(self, names: Sequence[str], most: int, *, unload: bool) -> str:
        """Return the refusal of one more skill.

        Args:
            names: The skills in use.
            most: How many may be.
            unload: Whether the model can unload one.
        """
        advice = "Unload one of them with unload_skill first." if unload else "Go on with these."
        return f"At most {most} skills can be in use at a time, and these are: {_list(names)}. {advice}"

    # --- refusals -------------------------------------------------------------------------------------------------

    def refused(self, tool: str, skills: Sequence[str], rules: Sequence[str], why: str = "") -> str:
        """Return the refusal of a tool that the skills in use do not allow.

        Args:
            tool: The tool that was called.
            skills: The skills in use that say which tools they need.
            rules: What they allow, as their authors wrote it.
            why: What is wrong with this very call, when its tool is allowed for others.
        """
        many = "skills" if len(skills) > 1 else "skill"
        allow = "allow" if len(skills) > 1 else "allows"
        because = f" {why}" if why else ""
        return (
            f"{_said(tool)} was not run. The {many} in use, {_list(skills)}, {allow} only: "
            f"{_list(rules) if rules else 'no tools'}.{because} Go on with an allowed tool, or tell the user that "
            "the task needs another one."
        )

    def not_yet(self, tool: str, skills: Sequence[str]) -> str:
        """Return the refusal of a tool that comes with a skill which is not in use.

        Args:
            tool: The tool.
            skills: The skills that bring it.
        """
        which = " or ".join(map(_said, skills))
        return f"{_said(tool)} was not run. It comes with the skill {which}: call load_skill first, then {_said(tool)}."

    def declined(self, tool: str, name: str, reason: str = "") -> str:
        """Return the refusal of a call that a person was asked about.

        Args:
            tool: The tool.
            name: The skill.
            reason: What the person said.
        """
        why = f" The reason given: {reason}" if reason else ""
        return (
            f"{_said(tool)} was not run: the user was asked about the skill {_said(name)} and did not agree.{why} "
            "Do not try it again in another way; go on without it, or ask the user what to do."
        )

    def unanswered(self, tool: str, name: str) -> str:
        """Return the refusal of a call that a person was asked about in vain.

        Args:
            tool: The tool.
            name: The skill.
        """
        return f"{_said(tool)} was not run: nobody answered the question about the skill {_said(name)} in time."

    def changed_meanwhile(self, name: str) -> str:
        """Return the refusal of a call whose skill is another one than the person was shown.

        Args:
            name: The skill.
        """
        return (
            f"The skill {_said(name)} changed while approval was waited for, so nothing was run or loaded. "
            "Call again to ask for approval of what it is now."
        )

    def no_tool(self, called: str, name: str) -> str:
        """Return the answer to a skill that was called as if it were a tool.

        Args:
            called: The name that was called.
            name: The skill.
        """
        return f'{_said(called)} is a skill, not a tool. Call load_skill with name "{_said(name)}" to read it.'

    def enough(self, name: str, paths: Sequence[str], misses: int) -> str:
        """Return the firm answer after several files that do not exist.

        Args:
            name: The skill.
            paths: All its files.
            misses: How many calls in a row missed.
        """
        files = "It has no files besides SKILL.md." if not paths else f"These are all its files: {_list(paths)}."
        return (
            f"Stop guessing: {misses} calls in a row asked the skill {_said(name)} for files that do not exist. "
            f"{files} Read one of these by exactly this path, or go on without."
        )

    # --- files that are not text ----------------------------------------------------------------------------------

    def medium(self, name: str, path: str, media_type: str, size: int) -> str:
        """Return the line beside a picture or document that is handed over as it is.

        Args:
            name: The skill.
            path: The file.
            media_type: Its media type.
            size: Its bytes.
        """
        return f"The file {_said(path)} of the skill {_said(name)} ({media_type}, {size} bytes):"


def _said(name: str) -> str:
    return inline(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…")


def _list(names: Iterable[str]) -> str:
    known = [_said(name) for name in names]
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + more
