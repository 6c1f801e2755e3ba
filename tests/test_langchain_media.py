"""Pictures and documents among a skill's files: blocks for models that take them, a description for the others."""

from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_kit import Story, results, skill
from skillbelt import MappingSource, SkillRouter
from skillbelt.langchain import SkillsMiddleware, skill_tools
from skillbelt.limits import MIB, Limits
from skillbelt.testing import ScriptedChatModel

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PDF = b"%PDF-1.7 " + bytes(range(256))
FILES: dict[str, str | bytes] = {
    "box/SKILL.md": skill("box"),
    "box/logo.png": PNG,
    "box/photo.JPG": b"\xff\xd8\xff" + bytes(300),
    "box/form.pdf": PDF,
    "box/lies.png": b"<html>",
    "box/data.bin": bytes(range(256)),
    "box/drawing.svg": "<svg/>",
    "box/long.txt": "".join(f"line {n}\n" for n in range(20_000)),
}


def reading(path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("read_skill_resource", {"name": "box", "path": path, **more})


def read(path: str, *, media: bool, **more: Any) -> ToolMessage:
    router = SkillRouter(MappingSource(FILES | {"box/huge.pdf": b"%PDF-" + bytes(MIB)}))
    tool = skill_tools(router, media=media)[1]
    return tool.invoke({"name": tool.name, "args": reading(path, **more)[1], "id": "1", "type": "tool_call"})


@pytest.mark.parametrize(
    ("path", "kind", "mime"),
    [("logo.png", "image", "image/png"), ("photo.JPG", "image", "image/jpeg"), ("form.pdf", "file", "application/pdf")],
)
def test_a_model_that_takes_them_is_given_pictures_and_documents_as_blocks(path, kind, mime):
    import base64

    message = read(path, media=True)
    text, block = message.content
    assert text == {
        "type": "text",
        "text": f"The file {path} of the skill box ({mime}, {len(FILES[f'box/{path}'])} bytes):",
    }
    assert (block["type"], block["mime_type"]) == (kind, mime)
    assert base64.b64decode(block["base64"]) == FILES[f"box/{path}"]
    assert message.content_blocks[1]["type"] == kind
    assert message.artifact["media_type"] == mime and message.artifact["truncated"] is False


@pytest.mark.parametrize(
    ("path", "media", "told"),
    [
        ("logo.png", False, "'logo.png' is binary (image/png, 264 bytes), not text. You cannot be shown pictures"),
        ("lies.png", True, "is named like image/png and is something else"),
        ("huge.pdf", True, "is too large to be shown"),
        ("data.bin", True, "is binary (application/octet-stream, 256 bytes), not text. Read a text file"),
        ("logo.png", True, "There is no file"),
    ],
)
def test_what_cannot_be_shown_is_described_with_what_to_do(path, media, told):
    more = {"path": "nope.png"} if told == "There is no file" else {}
    message = read(**{"path": path, **more}, media=media)
    assert message.status == "error" and told in message.content


def test_drawings_that_are_text_are_text():
    assert "<svg/>" in read("drawing.svg", media=True).content


def test_long_text_comes_in_pages_that_join_without_loss():
    got, offset = "", 0
    for _ in range(10):
        message = read("long.txt", media=True, offset=offset)
        page = message.content.partition("\n")[2].rpartition("\n</skill_resource>")[0]
        body, marker, _ = page.partition("\n\n[output truncated")
        got += body
        if not marker:
            break
        assert f"offset={len(got)}" in message.content
        offset = len(got)
    assert got == FILES["box/long.txt"]


class Profiled(ScriptedChatModel):
    """A scripted model with a profile, as models of providers have one."""


@pytest.mark.parametrize(
    ("profile", "media", "shown"),
    [
        ({"image_tool_message": True, "pdf_tool_message": False}, None, [True, False]),
        ({"pdf_tool_message": True}, None, [False, True]),
        (None, None, [False, False]),
        (None, True, [True, True]),
        ({"image_tool_message": True, "pdf_tool_message": True}, False, [False, False]),
    ],
)
async def test_the_middleware_goes_by_what_is_known_of_the_model(profile, media, shown):
    router = SkillRouter(MappingSource(FILES))
    steps = [[reading("logo.png"), reading("form.pdf"), reading("drawing.svg")], "done"]
    for run in ("sync", "async"):
        model = Profiled(steps, profile=profile)
        story = Story([], [SkillsMiddleware(router, media=media)], model=model)
        await story.asay("go") if run == "async" else story.say("go")
        answers = results(story.last)
        assert [isinstance(m.content, list) for m in answers[:2]] == shown
        assert [m.status for m in answers[:2]] == ["success" if one else "error" for one in shown]
        assert "<svg/>" in answers[2].content


def test_the_schema_is_the_same_with_and_without_pictures():
    router = SkillRouter(MappingSource(FILES))
    plain, media = (skill_tools(router, media=flag)[1] for flag in (False, True))
    assert convert_to_openai_tool(plain) == convert_to_openai_tool(media)


def test_a_source_may_bound_pictures_too():
    router = SkillRouter(MappingSource(FILES, limits=Limits(resource_bytes=100)))
    tool = skill_tools(router, media=True)[1]
    assert "is too large to be shown" in tool.invoke(reading("logo.png")[1])
