"""Package ids and their types."""

import pickle

import pytest

from skillbelt.errors import InvalidPackageIdError, RegistryError
from skillbelt.packages import PackageId, PackageType

SHA = "0123456789abcdef0123456789abcdef01234567"
SEED = "pkg_skl_a1b2c3d4e5f67890a1b2c3d4e5f67890abcdef"
"""The sample of the standard's draft, which has 38 digits (conflict C17)."""


@pytest.mark.row("S2-01")
def test_an_id_is_its_type_and_its_hash_and_comes_back_as_it_was():
    found = PackageId.parse(f"pkg_skl_{SHA}")
    assert (found.type, found.sha1) == (PackageType.SKILL, SHA)
    assert (str(found), repr(found)) == (f"pkg_skl_{SHA}", f"PackageId('pkg_skl_{SHA}')")
    assert PackageId.parse(str(found)) == found == pickle.loads(pickle.dumps(found))
    assert {found: 1}[PackageId(PackageType.SKILL, SHA)] == 1
    with pytest.raises(AttributeError):
        found.sha1 = "x"


@pytest.mark.row("S2-02")
def test_the_sample_of_38_digits_is_no_id():
    assert len(SEED.removeprefix("pkg_skl_")) == 38
    with pytest.raises(InvalidPackageIdError, match="38 characters, not 40") as caught:
        PackageId.parse(SEED)
    assert SEED in caught.value.message
    assert caught.value.details == {"value": SEED}


@pytest.mark.row("S2-02")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "known prefix"),
        (SHA, "known prefix"),
        (f"skl_{SHA}", "known prefix"),
        (f"pkg-skl-{SHA}", "known prefix"),
        (f"pkg_grf_{SHA}", "known prefix"),
        (f"PKG_skl_{SHA}", "known prefix"),
        (f" pkg_skl_{SHA}", "known prefix"),
        (f"pkg_skl_{SHA[:-1]}", "39 characters"),
        (f"pkg_skl_{SHA}0", "41 characters"),
        (f"pkg_skl_{SHA}\n", "41 characters"),
        (f"pkg_skl_{SHA.upper()}", "upper-case"),
        (f"pkg_skl_{'g' * 40}", "other than 0-9 and a-f"),
        (f"pkg_skl_{'٣' * 40}", "other than 0-9 and a-f"),
        (f"pkg_skl_{SHA[:20]}_{SHA[:19]}", "other than 0-9 and a-f"),
        (None, "not text"),
        (7, "not text"),
    ],
)
def test_anything_else_is_refused_and_named(text, why):
    with pytest.raises(InvalidPackageIdError, match=why) as caught:
        PackageId.parse(text)
    assert isinstance(caught.value, RegistryError) and isinstance(caught.value, ValueError)
    assert caught.value.details["value"] == (text if isinstance(text, str) else repr(text))


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(InvalidPackageIdError) as caught:
        PackageId.parse("x" * 100_000)
    assert len(caught.value.message) < 500 and len(caught.value.details["value"]) <= 200


@pytest.mark.row("S2-03")
def test_the_types_are_an_enum_and_two_have_known_prefixes():
    assert {kind.value for kind in PackageType} == {
        "actor", "graph", "stream", "agent", "template", "skill", "mcp", "lsp",
    }  # fmt: skip
    assert {kind.value: kind.prefix for kind in PackageType if kind.prefix} == {"actor": "act", "skill": "skl"}


@pytest.mark.row("S2-03")
def test_the_id_of_an_actor_is_no_id_of_a_skill():
    actor = PackageId.parse(f"pkg_act_{SHA}")
    assert actor.type is PackageType.ACTOR
    for refused in (
        lambda: actor.require(PackageType.SKILL),
        lambda: PackageId.parse(str(actor), expect=PackageType.SKILL),
    ):
        with pytest.raises(InvalidPackageIdError, match="type 'actor'") as caught:
            refused()
        assert caught.value.details == {"value": str(actor), "type": "actor", "expected": "skill"}
    assert actor.require(PackageType.ACTOR) is actor


@pytest.mark.parametrize(
    ("kind", "sha1", "why"),
    [
        (PackageType.MCP, SHA, "'mcp' have no known prefix"),
        ("skill", SHA, "have no known prefix"),
        (PackageType.SKILL, SHA[1:], "39 characters"),
        (PackageType.SKILL, None, "4 characters"),
    ],
)
def test_an_id_cannot_be_made_of_anything_else(kind, sha1, why):
    with pytest.raises(InvalidPackageIdError, match=why):
        PackageId(kind, sha1)
