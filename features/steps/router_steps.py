"""Steps about the router: catalog, prompt, activation, and the tools a model is given."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from behave import given, then, when
from files_steps import put, put_skill
from kit import attempt, got, unescaped, watching, words

import skillbelt
from skillbelt import MappingSource, Renderer, SkillRouter, TokenBudget, skill_tools
from skillbelt.events import ResourceRead, SkillActivated
from skillbelt.minimal import MinimalRenderer

PACKAGE = Path(skillbelt.__file__).parent


# --- routers ----------------------------------------------------------------------------------------------------------


@given('a router over "{folders:Q}"')
def step_router(context, folders):
    context.events = []
    roots = [context.folder / folder for folder in words(folders)]
    context.router = SkillRouter.from_directory(*roots, on_event=context.events.append)


@given("a router over these skills in memory")
def step_memory_router(context):
    context.router = SkillRouter(context.source)


@given("a router without skills")
def step_empty_router(context):
    context.router = SkillRouter(MappingSource({}))


@given('a router over "{folder:Q}" whose catalog may have {tokens:d} tokens')
def step_budget_router(context, folder, tokens):
    context.budget = tokens
    context.router = SkillRouter.from_directory(context.folder / folder, budget=TokenBudget(tokens))


@given('a router over "{folder:Q}" whose catalog may have {difference:d} tokens less than it needs')
def step_tight_router(context, folder, difference):
    needed = SkillRouter.from_directory(context.folder / folder).catalog().tokens
    step_budget_router(context, folder, needed - difference)


@given('a router over "{folder:Q}" with the minimal wording')
def step_minimal_router(context, folder):
    context.router = SkillRouter.from_directory(context.folder / folder, renderer=MinimalRenderer())


@given('a router over "{folder:Q}" with the minimal wording and {size:d} bytes')
def step_small_minimal_router(context, folder, size):
    context.router = SkillRouter.from_directory(context.folder / folder, renderer=MinimalRenderer(max_output=size))


@when('a router over "{folder:Q}" is made whose catalog may have {tokens:d} tokens')
def step_try_budget_router(context, folder, tokens):
    attempt(context, lambda: step_budget_router(context, folder, tokens))


@then('the text ends in "{end:Q}"')
def step_text_ends(context, end):
    text = got(context).text
    assert text.endswith(unescaped(end).decode()), text[-80:]


@given('a router over "{folder:Q}" whose answers may have {size:d} bytes')
def step_output_router(context, folder, size):
    context.router = SkillRouter.from_directory(context.folder / folder, renderer=Renderer(max_output=size))


@given('{count:d} skills in "{folder:Q}" that say "{description:Q}" {times:d} times')
def step_many(context, count, folder, description, times):
    for number in range(count):
        put_skill(context, f"{folder}/unit-{number:03}", f"unit-{number:03}", f"{description} " * times)


@given('{count:d} files "{pattern:Q}" in "{folder:Q}"')
def step_many_files(context, count, pattern, folder):
    for number in range(count):
        put(context, f"{folder}/{pattern.replace('N', f'{number:03}')}", "x")


@given('a skill "{name:Q}" in "{folder:Q}" with {count:d} times "{text:Q}" for a body')
def step_repeated_body(context, name, folder, count, text):
    put_skill(context, f"{folder}/{name}", name, body=text * count)


@given('a script "{path:Q}" that leaves a trace when it runs')
def step_script(context, path):
    context.trace = context.folder / "trace"
    put(context, path, f"#!{sys.executable}\nopen({str(context.trace)!r}, 'w').write('ran')\n")
    (context.folder / path).chmod(0o755)


# --- level 1 ----------------------------------------------------------------------------------------------------------


@when("the catalog is made")
def step_catalog(context):
    with watching() as context.seen:
        context.router.skills()
        attempt(context, context.router.catalog)


@then("the catalog is")
def step_catalog_is(context):
    assert got(context).text == context.text, context.outcome.text


@then('the catalog shows "{names:Q}"')
def step_catalog_shows(context, names):
    assert list(got(context).shown) == words(names), context.outcome


@then("each of its entries has a name and a description of its own")
def step_entry_elements(context):
    root = ElementTree.fromstring(got(context).text)
    assert root.tag == "available_skills"
    for entry, summary in zip(root.findall("skill"), context.router.skills(), strict=True):
        assert entry.findtext("name") == summary.name, got(context).text
        assert entry.findtext("description") == " ".join(summary.description.split())


@then("it is well-formed, with one line for each skill")
def step_well_formed(context):
    text = got(context).text
    root = ElementTree.fromstring(text)
    assert root.tag == "available_skills", text
    assert len(root.findall("skill")) == len(context.outcome.shown), text
    lines = text.split("\n")
    assert len([line for line in lines if line.startswith("<skill")]) == len(context.outcome.shown), text
    assert text.count("<available_skills>") == text.count("</available_skills>") == 1, text


@then("it keeps to its {tokens:d} tokens, by its own count")
def step_within(context, tokens):
    assert got(context).tokens <= tokens, context.outcome.tokens
    assert context.outcome.tokens == TokenBudget(tokens).count(context.outcome.text)


@then("it keeps to its budget and says what was cut")
def step_within_budget(context):
    catalog = got(context)
    assert catalog.truncated
    assert catalog.tokens <= context.budget, (catalog.tokens, context.budget)
    marks = [e.text for e in ElementTree.fromstring(catalog.text).findall("truncated")]
    assert len(marks) == 1, catalog.text
    if catalog.omitted:
        assert f"{len(catalog.omitted)} more" in marks[0], marks
    assert catalog.text.rstrip().endswith("</truncated>\n</available_skills>"), catalog.text[-200:]


@then("nothing of it is cut")
def step_uncut(context):
    assert not got(context).truncated
    assert "<truncated>" not in context.outcome.text


@then('the prompt for "{base:Q}" stays as it is')
def step_prompt_unchanged(context, base):
    assert context.router.prompt(base) == base


@then("there are no tools")
def step_no_tools(context):
    assert skill_tools(context.router) == ()
    assert skill_tools(context.router, listing=True) == ()


# --- level 2 and 3 ----------------------------------------------------------------------------------------------------


@when('"{name:Q}" is activated')
def step_activate(context, name):
    with watching() as context.seen:
        attempt(context, context.router.activate, name)


@when('the router lists the files of "{name:Q}"')
def step_router_resources(context, name):
    attempt(context, context.router.resources, name)


@then('the model is given "{text:Q}"')
def step_given_text(context, text):
    assert text in got(context).text, context.outcome.text


@then('the model is not given "{text:Q}"')
def step_not_given_text(context, text):
    assert text not in got(context).text, context.outcome.text


@then("what was activated so far is {names}")
def step_activated(context, names):
    done = [event.name for event in context.events if isinstance(event, SkillActivated)]
    assert done == json.loads(names), context.events


@then("no file was handed out")
def step_no_file_read(context):
    assert not [event for event in context.events if isinstance(event, ResourceRead)], context.events


@then("the text has at most {size:d} bytes")
def step_text_size(context, size):
    assert len(got(context).text.encode("utf-8")) <= size, len(context.outcome.text.encode("utf-8"))


@then("the text has more than {size:d} bytes")
def step_text_size_over(context, size):
    assert len(got(context).text.encode("utf-8")) > size, len(context.outcome.text.encode("utf-8"))


@then('the body of it is "{text:Q}" again and again, then the mark of the cut')
def step_cut_body(context, text):
    whole = got(context).text
    head, mark, tail = whole.partition("\n\n[output truncated")
    assert mark, whole[-300:]
    assert context.outcome.truncated
    body = head.partition(">\n")[2]
    assert len(body) > 1000
    assert body == (text * len(body))[: len(body)], body[-20:]  # no character is cut or changed
    assert all(words in tail for words in ("bytes shown", "offset=")), tail


@then("reading on from where it says gives the rest, to the last byte")
def step_read_on(context):
    skill = context.outcome.skill
    offset = int(context.outcome.text.rpartition("offset=")[2].partition(".")[0])
    shown = context.outcome.text.partition(">\n")[2].partition("\n\n[output truncated")[0]
    rest = b""
    while True:
        page = context.router.read(skill.name, "SKILL.md", offset=offset)
        rest += page.data
        offset += len(page.data)
        if not page.truncated:
            break
    assert (shown.encode("utf-8") + rest).strip() == skill.instructions.encode("utf-8").strip()


@then("it is not cut")
def step_activation_uncut(context):
    assert not got(context).truncated
    assert "[output truncated" not in context.outcome.text


@when("a renderer for answers of {size} bytes is made")
def step_renderer(context, size):
    attempt(context, lambda: Renderer(max_output=int(size)))


@then("its answers may have {size:d} bytes")
def step_renderer_size(context, size):
    assert got(context).max_output == size


@when("a renderer is made")
def step_default_renderer(context):
    attempt(context, Renderer)


# --- tools ------------------------------------------------------------------------------------------------------------


def tool(context, name):
    (spec,) = [spec for spec in skill_tools(context.router, listing=True) if spec.name == name]
    return spec


@when("the tools of a host without a catalog in its prompt are made")
def step_tools(context):
    context.tools = {spec.name: spec for spec in skill_tools(context.router, listing=True)}


@then("they take")
def step_tools_take(context):
    found = {}
    for name, spec in context.tools.items():
        schema = spec.args.model_json_schema()
        optional = [key for key in schema["properties"] if key not in schema.get("required", [])]
        found[name] = (schema.get("required", []), optional)
    expected = {row["tool"]: (words(row["required"]), words(row["optional"])) for row in context.table}
    assert found == expected, found


@then('the tool "{name:Q}" says "{text:Q}"')
def step_tool_says(context, name, text):
    assert text in context.tools[name].description, context.tools[name].description


@then("each of them only reads, and its description has at most {size:d} characters")
def step_tools_read_only(context, size):
    for spec in context.tools.values():
        assert spec.read_only, spec
        assert 0 < len(spec.description) <= size, spec


@when("a model calls {name:w} with {arguments}")
def step_call(context, name, arguments):
    attempt(context, tool(context, name).call, **json.loads(arguments))


@then("nothing ran")
def step_nothing_ran(context):
    assert not context.trace.exists()


# --- promises about the whole package ---------------------------------------------------------------------------------


@when("skillbelt is imported in a process of its own")
def step_import(context):
    code = "import skillbelt, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    context.modules = json.loads(done.stdout)


@then('none of "{names:Q}" was imported with it')
def step_not_imported(context, names):
    assert "skillbelt.router" in context.modules
    for name in words(names):
        loaded = [m for m in context.modules if m == name or m.startswith((f"{name}.", f"{name}_"))]
        assert not loaded, loaded


@then("no code of skillbelt runs text as code")
def step_no_eval(context):
    sources = [path for path in PACKAGE.rglob("*.py") if "examples" not in path.parts]
    assert len(sources) > 20
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                # The supervisor of scripts is a part of this package that is handed to its process compiled.
                own = node.func.id == "compile" and path.parts[-2:] == ("scripts", "orders.py")
                assert own or node.func.id not in {"eval", "exec", "compile", "__import__"}, f"{path}:{node.lineno}"


@then("no text of skillbelt promises a sandbox inside the process")
def step_no_sandbox(context):
    root = PACKAGE.parents[1]
    texts = [*PACKAGE.rglob("*.py"), *root.glob("*.md"), *(root / "docs").rglob("*.md")]
    assert len(texts) > 20
    for path in texts:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if "sandbox" in line.lower():
                near = " ".join(lines[max(0, number - 2) : number + 1]).lower()
                promise = any(word in near for word in ("in-process", "in process", "restrictedpython", "safe exec"))
                assert not promise or " no " in near or " not " in near, f"{path}:{number}: {line}"
