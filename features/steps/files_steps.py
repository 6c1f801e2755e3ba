"""Given: what lies on the disk."""

import os
import time

from behave import given, when
from kit import unescaped

SKILL = "---\nname: {name}\ndescription: {description}\n---\n{body}"
SAYS = "Does {name}."
BODY = "# {name}\n\n1. Begin.\n"


def put(context, path, content):
    target = context.folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def put_skill(context, folder, name, description=None, body=None):
    text = SKILL.format(
        name=name,
        description=description or SAYS.format(name=name),
        body=BODY.format(name=name) if body is None else body,
    )
    put(context, f"{folder}/SKILL.md", text)


@given('a skill "{name:Q}" in "{folder:Q}"')
def step_skill(context, name, folder):
    put_skill(context, f"{folder}/{name}", name)


@given('a skill "{name:Q}" in "{folder:Q}" that says "{description:Q}"')
def step_skill_that_says(context, name, folder, description):
    put_skill(context, f"{folder}/{name}", name, description)


@given('a skill "{name:Q}" in "{folder:Q}" with the body')
def step_skill_with_body(context, name, folder):
    put_skill(context, f"{folder}/{name}", name, body=context.text + "\n")


@given('a skill "{name:Q}" in "{folder:Q}" with a body of {size:d} bytes')
def step_skill_with_long_body(context, name, folder, size):
    put_skill(context, f"{folder}/{name}", name, body=("x" * 79 + "\n") * (size // 80) + "x" * (size % 80))


@given('a skill "{name:Q}" in the folder "{folder:Q}"')
def step_skill_in_folder(context, name, folder):
    put_skill(context, folder, name)


@given('a SKILL.md without a description in "{folder:Q}"')
def step_broken_skill(context, folder):
    put(context, f"{folder}/SKILL.md", f"---\nname: {folder.rpartition('/')[2]}\n---\nBody.\n")


@given('the file "{path:Q}"')
def step_file(context, path):
    put(context, path, context.text + "\n")


@given('the file "{path:Q}" of the text "{content:Any}"')
@when('the file "{path:Q}" is given the text "{content:Any}"')
def step_short_file(context, path, content):
    put(context, unescaped(path).decode("utf-8"), unescaped(content))


@given('the file "{path:Q}" of {size:d} bytes')
def step_large_file(context, path, size):
    put(context, path, b"x" * size)


@given('the folder "{path:Q}"')
def step_folder(context, path):
    (context.folder / path).mkdir(parents=True, exist_ok=True)


@given('the link "{path:Q}" to "{target:Q}"')
def step_link(context, path, target):
    link = context.folder / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


@given('the pipe "{path:Q}" that nobody writes to')
def step_pipe(context, path):
    (context.folder / path).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(context.folder / path)


@given('"{path:Q}" may not be read by this user')
def step_forbidden(context, path):
    (context.folder / path).chmod(0)
    if os.geteuid() == 0:  # root reads everything: be somebody else until the scenario is over
        os.seteuid(65534)


@when('the skill "{name:Q}" in "{folder:Q}" is changed to say "{description:Q}"')
def step_edit(context, name, folder, description):
    put_skill(context, f"{folder}/{name}", name, description)


@when('the folder "{path:Q}" is removed')
def step_remove(context, path):
    target = context.folder / path
    for file in target.rglob("*"):
        file.unlink()
    target.rmdir()


@given("all of it has rested for a while")
def step_rested(context):
    time.sleep(0.2)  # twice the time within which a file may be written again with its clock unchanged
