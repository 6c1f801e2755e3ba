"""Given a runner, when a script is run, then what it printed and what is left of it."""

import os
import zipfile
from pathlib import Path

from behave import given, then, when
from kit import attempt, got, source_of

from skillbelt import MappingSource, SkillRouter, skill_tools, zip_source
from skillbelt.scripts import LocalRunner, Rule, ScriptLimits, ScriptPolicy


def router_with(context, source, limits=None, **options):
    context.cache = context.folder / "cache"
    context.runner = LocalRunner(cache=context.cache, limits=limits)
    context.router = SkillRouter(source, runner=context.runner, **options)


@given('a router over "{folder:Q}" without a runner')
def step_no_runner(context, folder):
    context.router = SkillRouter(source_of(context, folder))


@given('a router over "{folder:Q}" with a local runner')
def step_local(context, folder):
    router_with(context, source_of(context, folder))


@given('a router over "{folder:Q}" with a local runner that waits {seconds:d} second')
def step_local_waits(context, folder, seconds):
    router_with(context, source_of(context, folder), ScriptLimits(timeout=seconds))


@given('a router over "{folder:Q}" with a local runner and the rule "{action:Q}" for "{path:Q}"')
def step_local_rule(context, folder, action, path):
    router_with(context, source_of(context, folder), policy=ScriptPolicy([Rule(action, path=path), Rule("allow")]))


@given('a router over "{folder:Q}" as {place} with a local runner')
def step_local_place(context, folder, place):
    root = context.folder / folder
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    if place == "a folder":
        source = source_of(context, folder)
    elif place == "a mapping":
        source = MappingSource(files)
    else:
        with zipfile.ZipFile(context.folder / "skills.zip", "w") as archive:
            for path, data in files.items():
                archive.writestr(path, data)
        source = zip_source(context.folder / "skills.zip")
    router_with(context, source)


@when('the script "{path:Q}" of "{name:Q}" is run with "{argument:Q}"')
def step_run(context, path, name, argument):
    attempt(context, context.router.run, name, path, [argument] if argument else [])


@when('the scripts of "{name:Q}" are looked at')
def step_preflight(context, name):
    attempt(context, context.router.preflight, name)


def tool(context, name):
    return {spec.name: spec for spec in skill_tools(context.router)}.get(name)


@then('a model has no tool "{name:Q}"')
def step_no_tool(context, name):
    assert tool(context, name) is None


@then('a model has the tool "{name:Q}" with the arguments "{arguments:Q}"')
def step_tool(context, name, arguments):
    assert ", ".join(tool(context, name).args.model_fields) == arguments


@then('a model reads "{path:Q}" of "{name:Q}" as text that holds "{words:Q}"')
def step_reads(context, path, name, words):
    assert words in tool(context, "read_skill_resource").call(name=name, path=path).text


@then('a model that runs "{path:Q}" of "{name:Q}" with "{argument:Q}" is told "{words:Q}"')
def step_model_runs(context, path, name, argument, words):
    text = tool(context, "run_skill_script").call(name=name, path=path, args=[argument]).text
    assert words in text, text


@then('a model that loads "{name:Q}" is told that "{path:Q}" cannot run')
def step_model_loads(context, name, path):
    text = tool(context, "load_skill").call(name=name).text
    assert path in text.partition("cannot run here")[2], text


@then('the runner calls itself "{name:Q}"')
def step_named(context, name):
    assert context.runner.name == name


@then('the runner does not guarantee "{what:Q}"')
def step_guarantee(context, what):
    assert what not in context.runner.guarantees


@then('it printed "{words:Q}"')
def step_printed(context, words):
    result = got(context)
    assert words in result.stdout, result


@then('it left "{path:Q}"')
def step_left(context, path):
    assert [info.path for info in got(context).files] == [path]


@then("it ended with exit code {code:d}")
def step_exit(context, code):
    assert got(context).exit_code == code


@then('it was ended because of "{reason:Q}"')
def step_reason(context, reason):
    assert got(context).reason == reason


@then("nothing of the run is left on disk")
def step_nothing_on_disk(context):
    assert list((context.cache / "runs").iterdir()) == []


@then("no process of the run is left")
def step_no_process(context):
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names only
        try:
            assert str(context.cache).encode() not in Path(f"/proc/{name}/environ").read_bytes(), name
        except OSError:
            continue


@then('"{path:Q}" must die for want of "{what:Q}"')
def step_dead(context, path, what):
    (need,) = got(context).dead[path]
    assert what in need.what
