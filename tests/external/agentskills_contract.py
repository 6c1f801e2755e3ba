"""All checks of the PyPI package ``agentskills-testing`` on our sources: ``nox -s contract312``.

The package needs Python 3.12, so this file is run by name and the suite does not collect it. The wrapper below only
translates: names, paths and bounds go to the source as they come, so what is refused is refused by the source.
"""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from skillbelt import (
    DirectorySource,
    Limits,
    MappingSource,
    Resource,
    ResourceError,
    ResourceSource,
    SkillError,
    SkillNotFoundError,
    merge,
)
from skillbelt.sources import zip_source

# Where doctests are looked for this file is imported with any Python; only 3.12 and later can have the package.
suite = pytest.importorskip("agentskills_testing", reason="agentskills-testing needs Python 3.12; see the docstring")
theirs = pytest.importorskip("agentskills_core")

_T = TypeVar("_T")
FILES = {
    f"{suite.SKILL_ID}/SKILL.md": (
        f"---\nname: {suite.SKILL_ID}\ndescription: Has each kind of file.\nmetadata:\n  version: '1.0'\n---\n# Do\n"
    ).encode(),
    f"{suite.SKILL_ID}/references/{suite.REFERENCE_NAME}": suite.REFERENCE_BYTES,
    f"{suite.SKILL_ID}/scripts/{suite.SCRIPT_NAME}": suite.SCRIPT_BYTES,
    f"{suite.SKILL_ID}/assets/{suite.ASSET_NAME}": suite.ASSET_BYTES,
}
TINY = Limits(frontmatter_bytes=8, skill_bytes=8, resource_bytes=8)


class Provider(theirs.SkillProvider):
    """A source of ours in their terms."""

    supports_resource_listing = True
    supports_discovery = True

    def __init__(self, source: ResourceSource) -> None:
        self._source = source

    async def get_metadata(self, skill_id: str) -> dict[str, Any]:
        skill = await self._ask(self._source.load, skill_id)
        return skill.frontmatter.model_dump(exclude_defaults=True)

    async def get_body(self, skill_id: str) -> str:
        return (await self._ask(self._source.load, skill_id)).instructions

    async def get_reference(self, skill_id: str, name: str) -> bytes:
        return await self._whole(skill_id, f"references/{name}")

    async def get_script(self, skill_id: str, name: str) -> bytes:
        return await self._whole(skill_id, f"scripts/{name}")

    async def get_asset(self, skill_id: str, name: str) -> bytes:
        return await self._whole(skill_id, f"assets/{name}")

    async def list_resources(self, skill_id: str) -> dict[str, list[str]]:
        paths = [info.path.partition("/") for info in await self._ask(self._source.resources, skill_id)]
        return {kind: sorted(name for top, _, name in paths if top == kind) for kind in theirs.RESOURCE_KINDS}

    async def discover(self) -> list[str]:
        return [summary.name for summary in await self._ask(self._source.list)]

    async def _whole(self, skill_id: str, path: str) -> bytes:
        resource: Resource = await self._ask(self._source.read, skill_id, path)
        if resource.truncated:  # they ask for all or nothing, we give a part and say so
            raise theirs.AgentSkillsError(f"{path!r} has {resource.total} bytes, more than one read gives.")
        return resource.data

    async def _ask(self, question: Callable[..., _T], *args: str) -> _T:
        try:
            return await asyncio.to_thread(question, *args)
        except SkillNotFoundError as error:
            raise theirs.SkillNotFoundError(str(error)) from error
        except ResourceError as error:
            raise theirs.ResourceNotFoundError(str(error)) from error
        except SkillError as error:
            raise theirs.AgentSkillsError(str(error)) from error


def on_disk(folder: Path, limits: Limits) -> ResourceSource:
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return DirectorySource(folder, limits=limits)


def in_memory(_: Path, limits: Limits) -> ResourceSource:
    return MappingSource(FILES, limits=limits)


def zipped(_: Path, limits: Limits) -> ResourceSource:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path, data in FILES.items():
            archive.writestr(path, data)
    return zip_source(file, limits=limits)


def merged(folder: Path, limits: Limits) -> ResourceSource:
    return merge(MappingSource({}), on_disk(folder, limits))


@pytest.fixture(params=[on_disk, in_memory, zipped, merged], ids=lambda made: made.__name__)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Limits], ResourceSource]:
    return lambda limits: request.param(tmp_path / "skills", limits)


class TestProvider(suite.ProviderConformanceSuite):
    """48 checks of each source."""

    @pytest.fixture
    def provider(self, made: Callable[[Limits], ResourceSource]) -> Provider:
        return Provider(made(Limits()))


class TestLimits(suite.ContentLimitConformanceSuite):
    """4 checks of each source."""

    @pytest.fixture
    def limited_provider(self, made: Callable[[Limits], ResourceSource]) -> Provider:
        return Provider(made(TINY))
