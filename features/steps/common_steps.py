"""Then: what came of the last attempt."""

from behave import then
from kit import got


@then("it is refused as a {error:Error}")
def step_refused_as(context, error):
    assert context.error is not None, f"it gave {context.outcome!r}"
    assert isinstance(context.error, error), repr(context.error)


@then("it is also a {error:Error}")
def step_also(context, error):
    assert isinstance(context.error, error), type(context.error).__mro__


@then("it is not a {error:Error}")
def step_not(context, error):
    assert not isinstance(context.error, error), repr(context.error)


@then('the message mentions "{words:Q}"')
def step_message(context, words):
    assert words in str(context.error), str(context.error)


@then('the message does not mention "{words:Q}"')
def step_no_message(context, words):
    assert words not in str(context.error), str(context.error)


@then('the error carries the cause "{code:Q}"')
def step_cause(context, code):
    assert code in [d.code for d in context.error.diagnostics], context.error.diagnostics


@then("it succeeds")
def step_succeeds(context):
    got(context)
