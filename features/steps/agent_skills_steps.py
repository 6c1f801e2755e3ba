"""Steps about the stateful loader of one skill folder; each speaks of the loader, so that no other step is meant."""

import builtins
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from behave import given, register_type, then, when
from parse import with_pattern
from pydantic import ValidationError

import skillbelt
from skillbelt import LENIENT, NAMESPACED, STRICT, DirectorySource, SkillRouter, agent_skills, merge, skill_tools
from skillbelt.agent_skills import AgentSkillLoader, AgentSkillResourceSlot, AgentSkillSpec
from skillbelt.tools import tool_name, tool_per_skill

PROFILES = {"STRICT": STRICT, "LENIENT": LENIENT, "NAMESPACED": NAMESPACED}
HEAD = "---\nname: {}\ndescription: Sorts mail.\n---\n"


@with_pattern("STRICT|LENIENT|NAMESPACED")
def _profile(word):
    return PROFILES[word]


@with_pattern('[^"]*')
def _words(text):
    return text


@with_pattern(".*")
def _escaped(text):
    return re.sub(r"\\([nrt])", lambda m: {"n": "\n", "r": "\r", "t": "\t"}[m[1]], text)


@with_pattern("[A-Z][A-Za-z]+Error")
def _error(word):
    return getattr(skillbelt, word, None) or getattr(builtins, word)


register_type(LoaderProfile=_profile, LoaderWords=_words, LoaderText=_escaped, LoaderError=_error)


def root(context):
    """A folder of the scenario's own, made when it is first needed."""
    if not hasattr(context, "loader_root"):
        context.loader_root = Path(tempfile.mkdtemp(prefix="skillbelt-loader-")).resolve()
        context.add_cleanup(shutil.rmtree, context.loader_root)
    return context.loader_root


def put(context, path, text):
    target = root(context) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode("utf-8"))


def attempt(context, function, *args, **kwargs):
    """Call something that may fail and keep what came of it."""
    context.loader_given = context.loader_failure = None
    try:
        context.loader_given = function(*args, **kwargs)
    except Exception as error:
        context.loader_failure = error
    return context.loader_given


def listed(text):
    return tuple(word.strip() for word in text.split(",") if word.strip())


def loader(context):
    assert context.loader_failure is None, repr(context.loader_failure)
    return context.loader


def failure(context):
    assert context.loader_failure is not None, f"it gave {context.loader_given!r}"
    return context.loader_failure


def plain(value):
    """A value as JSON has it, to compare with what a table says."""
    return json.loads(json.dumps(value, default=lambda v: v.model_dump()))


def says(value, table):
    for row in table:
        found = value
        for part in row["field"].split("."):
            found = found[part] if isinstance(found, dict) else getattr(found, part)
        expected = json.loads(row["value"])
        assert plain(found) == expected, f"{row['field']} is {found!r}, not {expected!r}"


# --- what really happened ---------------------------------------------------------------------------------------------

_watched = None
_PROCESSES = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")


def _hook(event, args):
    if _watched is not None and (event in _PROCESSES or event in ("compile", "exec", "import")):
        _watched.append((event, repr(args[:2])))


sys.addaudithook(_hook)


def bytes_read():
    return int(Path("/proc/self/io").read_bytes().split()[1])


# --- given ------------------------------------------------------------------------------------------------------------


@given('the loader\'s folder "{folder:LoaderWords}" with a SKILL.md of the text "{text:LoaderText}"')
def step_folder(context, folder, text):
    put(context, f"{folder}/SKILL.md", text)


@given('the loader\'s skill "{name:LoaderWords}" in the folder "{folder:LoaderWords}"')
def step_skill(context, name, folder):
    put(context, f"{folder}/SKILL.md", HEAD.format(name) + "Begin.\n")


@given('the loader\'s skill "{name:LoaderWords}" in the folder "{folder:LoaderWords}", {size:d} bytes long')
def step_long_skill(context, name, folder, size):
    head = HEAD.format(name)
    context.loader_long_body = "x" * (size - len(head))
    put(context, f"{folder}/SKILL.md", head + context.loader_long_body)


@given('the loader\'s file "{path:LoaderWords}"')
def step_file(context, path):
    put(context, path, "text")


@given('the loader\'s file "{path:LoaderWords}" that leaves a trace when it is run')
def step_script(context, path):
    trace = root(context) / "trace"
    put(context, path, f"from pathlib import Path\nPath({str(trace)!r}).write_text('was run')\n")


@given('the loader\'s directory "{path:LoaderWords}"')
def step_directory(context, path):
    (root(context) / path).mkdir(parents=True, exist_ok=True)


@given('the loader\'s link "{path:LoaderWords}" to "{target:LoaderWords}"')
def step_link(context, path, target):
    link = root(context) / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(root(context) / target)


@given('a router over the loader\'s root "{folder:LoaderWords}"')
def step_router(context, folder):
    context.loader_router = SkillRouter(DirectorySource(root(context) / folder, profile=NAMESPACED))
    context.loader_router.skills()


# --- when -------------------------------------------------------------------------------------------------------------


@when('the loader parses the text "{text:LoaderText}" under {profile:LoaderProfile}')
def step_parse(context, text, profile):
    context.loader = attempt(context, AgentSkillSpec.from_text, text, profile=profile)


@when("the loader parses this text under {profile:LoaderProfile}")
def step_parse_this(context, profile):
    context.loader = attempt(context, AgentSkillSpec.from_text, context.text + "\n", profile=profile)


@when('the loader parses the file "{path:LoaderWords}"')
def step_parse_file(context, path):
    context.loader = attempt(context, AgentSkillSpec.from_file, root(context) / path)


@when('the loader loads "{folder:LoaderWords}" under {profile:LoaderProfile}')
def step_load(context, folder, profile):
    context.loader = attempt(context, AgentSkillLoader.from_folder, root(context) / folder, profile=profile)


@when('the loader loads "{folder:LoaderWords}" under {profile:LoaderProfile}, watched')
def step_load_watched(context, folder, profile):
    before = bytes_read()
    step_load(context, folder, profile)
    context.loader_bytes = bytes_read() - before


@when('the loader is called as "{call:LoaderWords}"')
def step_call(context, call):
    spec = AgentSkillSpec(name="local/mail", description="Sorts mail.")
    names = {**vars(agent_skills), "spec": spec, "folder": root(context)}
    attempt(context, eval, call, names)


@when("the loader discovers the skill")
def step_discover(context):
    attempt(context, loader(context).discover)


@when("the loader activates the skill")
def step_activate(context):
    attempt(context, loader(context).activate)


@when("the loader deactivates the skill")
def step_deactivate(context):
    attempt(context, loader(context).deactivate)


@when('the loader\'s folder "{folder:LoaderWords}" is removed')
def step_remove(context, folder):
    shutil.rmtree(root(context) / folder)


@when("the loader goes through the whole life of the skill, watched")
def step_life(context):
    global _watched
    skill = loader(context)
    _watched = context.loader_events = []
    try:
        skill.discover()
        skill.activate()
        for info in skill.list_resources():
            skill.read(info.path).text()
        skill.to_tool_descriptor()
        skill.deactivate()
    finally:
        _watched = None


# --- then -------------------------------------------------------------------------------------------------------------


@then('the loader fails with {error:LoaderError} and mentions "{words:LoaderWords}"')
def step_fails(context, error, words):
    found = failure(context)
    assert isinstance(found, error), repr(found)
    assert isinstance(found, skillbelt.SkillError), repr(found)
    assert words in str(found), str(found)


@then('the loader\'s failure carries a hint that says "{words:LoaderWords}"')
def step_hint(context, words):
    assert any(words in (d.hint or "") for d in failure(context).diagnostics), failure(context).diagnostics


@then("the loader's failure points at line {line:d} and says what to change")
def step_points(context, line):
    first = failure(context).diagnostics[0]
    assert first.line == line, first
    assert first.hint, first
    assert first.path == str(root(context) / "mail" / "SKILL.md"), first


@then("the loader's spec says")
def step_spec(context):
    given_ = loader(context)
    says(given_ if isinstance(given_, AgentSkillSpec) else given_.spec, context.table)


@then('the loader has said "{code:LoaderWords}" and nothing else')
def step_said(context, code):
    assert [d.code for d in loader(context).diagnostics] == [code], loader(context).diagnostics


@then("the loader's steps are")
def step_steps(context):
    expected = [(int(row["index"]), _escaped(row["content"])) for row in context.table]
    assert [(step.index, step.content) for step in loader(context).steps] == expected, loader(context).steps


@then('the loader\'s folder is "{folder:LoaderWords}", resolved')
def step_resolved(context, folder):
    assert loader(context).folder == root(context) / folder, loader(context).folder


@then('the loader\'s scripts are "{paths:LoaderWords}"')
def step_scripts(context, paths):
    assert loader(context).script_paths == listed(paths), loader(context).script_paths


@then('the loader\'s references are "{paths:LoaderWords}"')
def step_references(context, paths):
    assert loader(context).reference_paths == listed(paths), loader(context).reference_paths


@then('the loader\'s assets are "{paths:LoaderWords}"')
def step_assets(context, paths):
    assert loader(context).asset_paths == listed(paths), loader(context).asset_paths


@then('the loader\'s files are "{paths:LoaderWords}"')
def step_files(context, paths):
    found = tuple(info.path for info in loader(context).list_resources())
    assert found == listed(paths), found


@then('the loader reads "{text:LoaderWords}" from "{path:LoaderWords}"')
def step_reads(context, text, path):
    assert loader(context).read(path).text() == text


@then('the loader\'s slots are "{names:LoaderWords}"')
def step_slots(context, names):
    skill = loader(context)
    slots = skill.resource_slots
    assert tuple(slot.name for slot in slots) == listed(names), slots
    assert all(slot.access == "read_only" and slot.path == slot.name for slot in slots), slots
    assert skill.to_tool_descriptor().resource_slots == slots, "descriptor and skill disagree"


@then('the loader\'s slots cannot be given the access "{access:LoaderWords}"')
def step_read_only(context, access):
    (slot,) = loader(context).resource_slots
    for change in (
        lambda: AgentSkillResourceSlot(name="scripts", path="scripts", access=access),
        lambda: AgentSkillResourceSlot(name="scripts", path="scripts", writable=True),
        lambda: setattr(slot, "access", access),
        lambda: AgentSkillResourceSlot.model_validate({**slot.model_dump(), "access": access}),
    ):
        try:
            change()
        except ValidationError:
            continue
        raise AssertionError("a slot was made writable")


@then("the loader takes no option that is about writing")
def step_no_option(context):
    for option in ("writable", "read_only", "access", "writes"):
        try:
            AgentSkillLoader.from_folder(loader(context).folder, **{option: True})
        except TypeError:
            continue
        raise AssertionError(f"from_folder() takes {option}")


@then('the loader\'s body is exactly "{text:LoaderText}"')
def step_body(context, text):
    assert loader(context).body == text, loader(context).body


@then("the loader's body is empty")
def step_no_body(context):
    assert loader(context).body == ""
    assert loader(context).spec.body == ""


@then("the loader's body is {size:d} bytes less the frontmatter")
def step_whole_body(context, size):
    assert loader(context).body == context.loader_long_body
    assert size > len(context.loader_long_body)


@then("the loader's descriptor holds that body")
def step_descriptor_body(context):
    assert context.loader_given.body == context.loader_long_body
    assert loader(context).to_tool_descriptor() == context.loader_given


@then("the loader has read fewer than {size:d} bytes")
def step_read_little(context, size):
    assert context.loader_bytes < size, context.loader_bytes


@then("the loader's descriptor says")
def step_descriptor(context):
    says(loader(context).to_tool_descriptor(), context.table)


@then("the loader's descriptor of the discovery says")
def step_discovery(context):
    says(context.loader_given, context.table)


@then('the loader\'s descriptor has the folder "{folder:LoaderWords}"')
def step_descriptor_folder(context, folder):
    path = loader(context).to_tool_descriptor().agent_skill_path
    assert path == str(root(context) / folder), path
    assert Path(path).is_absolute()


@then(
    'the loader\'s roots "{roots:LoaderWords}" give "{first:LoaderWords}" from "{one:LoaderWords}" '
    'and "{second:LoaderWords}" from "{two:LoaderWords}"'
)
def step_roots(context, roots, first, one, second, two):
    source = merged(context, roots)
    found = {summary.name: Path(summary.location).relative_to(root(context)).parts[0] for summary in source.list()}
    assert found == {first: one, second: two}, found


@then('the loader\'s roots "{roots:LoaderWords}" fail with {error:LoaderError} when a collision is an error')
def step_collision(context, roots, error):
    attempt(context, merged(context, roots, on_collision="error").list)
    assert isinstance(failure(context), error), failure(context)
    assert "local/mail" in str(failure(context))


def merged(context, roots, **options):
    return merge(*(DirectorySource(root(context) / r, profile=NAMESPACED) for r in listed(roots)), **options)


@then(
    'a reload of the loader\'s root says "{added:LoaderWords}" was added, "{removed:LoaderWords}" removed '
    'and "{changed:LoaderWords}" changed'
)
def step_reload(context, added, removed, changed):
    diff = context.loader_router.reload()
    assert (diff.added, diff.removed, diff.changed) == ((added,), (removed,), (changed,)), diff
    assert {summary.name for summary in context.loader_router.skills()} == {added, changed}


@then("the loader has started no process and compiled none of the skill's code")
def step_nothing_ran(context):
    assert not (root(context) / "trace").exists(), "a script was run"
    bad = [e for e in context.loader_events if e[0] in _PROCESSES or "sort.py" in e[1] or "scripts" in e[1]]
    assert not bad, bad


@then("the loader's skill offers a model no tool that runs anything")
def step_no_runner(context):
    router = SkillRouter(DirectorySource(root(context), profile=NAMESPACED))
    specs = [*skill_tools(router, listing=True), *tool_per_skill(router)]
    assert specs
    assert all(spec.read_only and "run" not in spec.name for spec in specs), specs


@then('the loader\'s skill "{name:LoaderWords}" is the tool "{tool:LoaderWords}" that every provider takes')
def step_tool(context, name, tool):
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool)
    assert tool_name(name) == tool, tool_name(name)
    assert tool.replace("_S_", "/").replace("_C_", ":") == name


@then('calling the tool "{tool:LoaderWords}" gives the loader\'s skill "{name:LoaderWords}"')
def step_call_tool(context, tool, name):
    (spec,) = [spec for spec in tool_per_skill(context.loader_router) if spec.name == tool]
    assert spec.metadata["skill"] == name
    result = spec.call()
    assert result.artifact["skill"] == name
    assert f'<skill_content name="{name}">' in result.text


@then(
    'the loader\'s skills "{name:LoaderWords}" and "{other:LoaderWords}" are different tools that every provider takes'
)
def step_different_tools(context, name, other):
    specs = {spec.metadata["skill"]: spec for spec in tool_per_skill(context.loader_router)}
    assert specs[name].name != specs[other].name
    for skill in (name, other):
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", specs[skill].name), specs[skill].name
        assert specs[skill].call().artifact["skill"] == skill
