"""Steps about sources made of sources."""

import asyncio

from behave import given, then, when
from kit import attempt, source_of, watching, words

from skillbelt import (
    InvalidSkillError,
    Skill,
    SkillRouter,
    SkillSummary,
    SourceError,
    filtered,
    merge,
    namespaced,
    parse_skill,
)


def sources(context, folders):
    return [None if folder == "None" else source_of(context, folder) for folder in words(folders)]


@given('the merge of "{folders:Q}"')
def step_merge(context, folders):
    context.source = merge(*sources(context, folders))


@given('the merge of "{folders:Q}" that raises on {what:w}')
def step_merge_raising(context, folders, what):
    options = {"collisions": {"on_collision": "error"}, "breakage": {"broken": "raise"}}[what]
    context.source = merge(*sources(context, folders), **options)


@given('the merge of "{first:Q}" and of the merge of "{folders:Q}"')
def step_nested_merge(context, first, folders):
    context.source = merge(*sources(context, first), merge(*sources(context, folders)))


@given("the merge of nothing")
def step_merge_nothing(context):
    context.source = merge()


@given('the folder "{folder:Q}" under the namespace "{namespace:Q}"')
def step_namespaced(context, folder, namespace):
    context.source = namespaced(namespace, source_of(context, folder))


@given('the skills of "{folder:Q}" whose description mentions "{word:Q}"')
def step_filtered(context, folder, word):
    context.source = filtered(source_of(context, folder), lambda summary: word in summary.description)


@when("{what} is made of no source")
def step_none_source(context, what):
    makers = {
        "a router": lambda: SkillRouter(None),
        "a filter": lambda: filtered(None, bool),
        "a namespace": lambda: namespaced("acme", None),
    }
    attempt(context, makers[what])


@then("every kind of question about {name} is refused as a {error:Error}")
def step_every_question(context, name, error):
    source, name = context.source, name.strip('"')
    questions = {
        "lookup": lambda: source.lookup(name),
        "load": lambda: source.load(name),
        "resources": lambda: source.resources(name),
        "read": lambda: source.read(name, "notes.md"),
    }
    for question, ask in questions.items():
        attempt(context, ask)
        assert isinstance(context.error, error), f"{question}: {context.error!r} {context.outcome!r}"


# --- sources that answer nonsense, or do not answer -------------------------------------------------------------------


class Odd:
    """A source of somebody else: says what it was told to, and counts how often it was asked."""

    def __init__(self, **answers):
        self._answers = answers
        self.asked = []

    def _answer(self, question):
        self.asked.append(question)
        answer = self._answers.get(question)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def list(self):
        return self._answer("list") or ()

    def lookup(self, name):
        return self._answer("lookup")

    def load(self, name):
        return self._answer("load")

    def resources(self, name):
        return self._answer("resources")

    def read(self, name, path, *, offset=0, max_bytes=1):
        return self._answer("read")

    def diagnostics(self):
        return ()


def a_skill(name):
    return parse_skill(f"---\nname: {name}\ndescription: D.\n---\nBody.\n").skill


def a_summary(name, description="D."):
    return SkillSummary(name=name, description=description)


ODD = {
    "no summary": lambda: {"list": [None]},
    "a summary without a name": lambda: {"list": [a_summary(" ")]},
    "a summary without a description": lambda: {"list": [a_summary("mail", "")]},
    "no skill": lambda: {"list": [a_summary("mail")], "lookup": a_summary("mail"), "load": None},
    "something else": lambda: {"lookup": a_summary("mail"), "load": {"name": "mail"}},
    "another skill": lambda: {"lookup": a_summary("mail"), "load": a_skill("pdf")},
    "no file": lambda: {"lookup": a_summary("mail"), "read": None},
}


@given('the merge of a source that gives {what} and of "{folder:Q}"')
def step_odd(context, what, folder):
    context.odd = Odd(**ODD[what]())
    context.source = merge(context.odd, source_of(context, folder))


@given("the merge of a source that gives {what}")
def step_odd_alone(context, what):
    context.odd = Odd(**ODD[what]())
    context.source = merge(context.odd)


@given('the merge of a source whose disk fails and of "{folder:Q}"')
def step_failing(context, folder):
    failure = SourceError("The disk is on fire.")
    context.odd = Odd(list=failure, lookup=failure, load=failure, resources=failure, read=failure)
    context.source = merge(context.odd, source_of(context, folder))


@given('the merge of a source that is cancelled and of "{folder:Q}"')
def step_cancelled_source(context, folder):
    stop = asyncio.CancelledError("the user pressed stop")
    context.odd = Odd(list=stop, lookup=stop, load=stop, resources=stop, read=stop)
    context.source = merge(context.odd, source_of(context, folder))


@then("every kind of question is cancelled, with its cause")
def step_all_cancelled(context):
    source = context.source
    for ask in (
        source.list,
        lambda: source.lookup("mail"),
        lambda: source.load("mail"),
        lambda: source.resources("mail"),
        lambda: source.read("mail", "notes.md"),
        lambda: SkillRouter(source).catalog(),
        lambda: SkillRouter(source).activate("mail"),
    ):
        cause = None
        try:
            given_anyway = ask()
        except asyncio.CancelledError as error:
            cause = error.args
        assert cause == ("the user pressed stop",), given_anyway


@then("no source was asked")
def step_not_asked(context):
    assert context.odd.asked == [], context.odd.asked
    assert context.seen.opens() == [], context.seen.events


@when("everything wrong is asked of it")
def step_wrong_questions(context):
    source = context.source
    with watching() as context.seen:
        for ask in (
            lambda: source.load(""),
            lambda: source.lookup(" "),
            lambda: source.resources(None),
            lambda: source.read("", "notes.md"),
            lambda: source.read("mail", "../secret"),
            lambda: source.read("mail", ""),
        ):
            attempt(context, ask)
            assert context.error is not None, context.outcome


@then('it is the skill of "{folder:Q}"')
def step_from(context, folder):
    if context.error is not None:
        raise context.error
    found = context.outcome
    assert isinstance(found, Skill | SkillSummary), found
    assert found.location.startswith(f"{context.folder / folder}/"), found.location


@then("it raises its errors, and names what is wrong")
def step_carries(context):
    assert isinstance(context.error, InvalidSkillError), context.error
    assert context.error.diagnostics, context.error
