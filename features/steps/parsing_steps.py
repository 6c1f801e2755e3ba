"""Steps about one SKILL.md: parse it, look at the skill, look at what is said about it."""

import json
from dataclasses import replace

from behave import given, then, when
from kit import attempt, got, unescaped, words

from skillbelt import InvalidSkillError, Limits, Skill, parse_skill, validate_skill


def errors(parsed):
    return [d for d in parsed.diagnostics if d.severity == "error"]


@given("a SKILL.md")
def step_text(context):
    context.data = (context.text + "\n").encode("utf-8")


@given('a SKILL.md of the bytes "{escaped:Any}"')
def step_bytes(context, escaped):
    context.data = unescaped(escaped)


@given("a SKILL.md of the name {name}, written as in YAML")
def step_yaml_name(context, name):
    context.data = f"---\nname: {name}\ndescription: Sorts mail.\n---\nBegin.\n".encode()


@given('a SKILL.md of the name "{name:Q}"')
def step_name(context, name):
    context.data = f"---\nname: {name}\ndescription: Sorts mail.\n---\nBegin.\n".encode()


@given('a SKILL.md whose {field:w} is {count:d} times "{char:Q}"')
def step_long_field(context, field, count, char):
    fields = {"name": "mail", "description": "Sorts mail."} | {field: char * count}
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    context.data = f"---\n{head}---\nBegin.\n".encode()
    context.long_value = char * count


@when("it is parsed under {profile:Profile}")
def step_parse(context, profile):
    parse(context, profile, None)


@when('it is parsed under {profile:Profile} in the folder "{directory:Q}"')
def step_parse_in_folder(context, profile, directory):
    parse(context, profile, directory)


@when("it is parsed under {profile:Profile} with ASCII names only")
def step_parse_ascii(context, profile):
    parse(context, replace(profile, ascii_names=True), None)


@when("it is parsed under {profile:Profile} and at most {size:d} bytes of frontmatter")
def step_parse_limited(context, profile, size):
    context.parsed = parse_skill(context.data, profile=profile, limits=Limits(frontmatter_bytes=size))


def parse(context, profile, directory):
    context.parsed = parse_skill(context.data, profile=profile, directory=directory)


# --- the skill --------------------------------------------------------------------------------------------------------


def skill_of(context):
    assert context.parsed.skill is not None, f"there is no skill: {context.parsed.diagnostics}"
    return context.parsed.skill


@then('the skill is called "{name:Q}"')
def step_called(context, name):
    assert skill_of(context).name == name, skill_of(context).name


@then('the skill is called "{name:Q}" in the namespace "{namespace:Q}"')
def step_called_in(context, name, namespace):
    skill = skill_of(context)
    assert (skill.name, skill.short_name, skill.namespace) == (f"{namespace}/{name}", name, namespace), skill


@then('its description is "{description:Q}"')
def step_description(context, description):
    assert skill_of(context).description == description, skill_of(context).description


@then("its {field:w} is all of that")
def step_whole_value(context, field):
    assert getattr(skill_of(context).frontmatter, field) == context.long_value


@then("its instructions are")
def step_instructions(context):
    assert skill_of(context).instructions == context.text + "\n", repr(skill_of(context).instructions)


@then('its instructions are exactly "{escaped}"')
def step_exact_instructions(context, escaped):
    expected = unescaped(escaped).decode("utf-8")
    assert skill_of(context).instructions == expected, repr(skill_of(context).instructions)


@then("its instructions survive a round trip through JSON")
def step_round_trip(context):
    skill = skill_of(context)
    again = Skill.model_validate(json.loads(skill.model_dump_json()))
    assert again == skill
    assert again.instructions.encode() == skill.instructions.encode()
    assert skill.instructions


@then('"{first:Q}" comes before "{second:Q}", and that before "{third:Q}"')
def step_order(context, first, second, third):
    body = skill_of(context).instructions
    assert -1 < body.index(first) < body.index(second) < body.index(third)


@then("its fields are")
def step_fields(context):
    """``metadata.author`` is a field of a field; ``extra.`` holds what the specification does not know."""
    frontmatter = skill_of(context).frontmatter.model_dump(mode="json")
    for row in context.table:
        value = frontmatter
        for part in row["field"].split("."):
            assert part in value, f"{part!r} is not in {value!r}"
            value = value[part]
        assert value == json.loads(row["value"]), f"{row['field']} is {value!r}"


@then("its allowed tools are")
def step_tools(context):
    assert list(skill_of(context).frontmatter.allowed_tools) == [row["tool"] for row in context.table]


@then("its metadata is empty")
def step_no_metadata(context):
    assert skill_of(context).frontmatter.metadata == {}


# --- what is said about it --------------------------------------------------------------------------------------------


@then("nothing is said about it")
def step_silence(context):
    assert context.parsed.diagnostics == (), context.parsed.diagnostics


@then('it is refused, and the reason mentions "{word:Q}"')
def step_refused(context, word):
    assert context.parsed.skill is None, f"it became a skill: {context.parsed.skill}"
    attempt(context, context.parsed.unwrap)
    assert isinstance(context.error, InvalidSkillError), context.error
    assert word in str(context.error), str(context.error)
    assert any(word in d.message for d in errors(context.parsed)), context.parsed.diagnostics


@then('it is refused for "{codes:Q}"')
def step_refused_for(context, codes):
    assert context.parsed.skill is None, f"it became a skill: {context.parsed.skill}"
    assert sorted({d.code for d in errors(context.parsed)}) == sorted(words(codes)), context.parsed.diagnostics


@then('a {severity:Severity} "{code:Q}" says "{word:Q}"')
def step_said(context, severity, code, word):
    said = [d for d in context.parsed.diagnostics if d.code == code and d.severity == severity]
    assert said, context.parsed.diagnostics
    assert any(word in d.message for d in said), said


@then('the {severity:Severity}s are "{codes:Q}"')
def step_codes(context, severity, codes):
    found = sorted(d.code for d in context.parsed.diagnostics if d.severity == severity)
    assert found == sorted(words(codes)), context.parsed.diagnostics


@then('it points at line {line:d} and the field "{field:Q}", names "{found:Q}", and its hint says "{hint:Q}"')
def step_actionable(context, line, field, found, hint):
    (said,) = errors(context.parsed)
    assert (said.line, said.field or "") == (line, field), said
    assert found in said.message, said
    assert hint in (said.hint or ""), said
    for part in (f":{line}", f"[{said.code}]", said.message, said.hint):
        assert part in str(said), str(said)


# --- validating on disk -----------------------------------------------------------------------------------------------


@when('"{path:Q}" is validated')
def step_validate(context, path):
    attempt(context, validate_skill, context.folder / path)


@then("it is valid")
def step_valid(context):
    assert got(context) == (), context.outcome


@then('all of its violations are reported at once: "{codes:Q}"')
def step_violations(context, codes):
    assert sorted(d.code for d in got(context) if d.severity == "error") == sorted(words(codes)), context.outcome


@then("every one of them names the file and says what to change")
def step_each_actionable(context):
    for said in got(context):
        assert (said.path or "").endswith("/skills/mail/SKILL.md"), said
        assert all((said.message, said.hint)), said


@then('the verdict is "{verdict:Q}"')
def step_verdict(context, verdict):
    found = sorted({d.code for d in got(context) if d.severity == "error"})
    assert found == sorted(words(verdict.replace("valid", ""))), context.outcome
