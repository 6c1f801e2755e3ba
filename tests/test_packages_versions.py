"""Versions and their aliases."""

import random

import pytest

from skillbelt.packages import is_alias, is_concrete, normalize_version, select, sort_versions

KNOWN = ["v1.2.3", "v1.10.0", "v1.9.9", "v1.2.10", "v2.0.0-rc.1", "v2.0.0", "v2.1.0-beta", "v0.9.0", "v10.0.0-a"]


@pytest.mark.row("S2-11")
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("latest", "v2.0.0"),
        ("v1", "v1.10.0"),
        ("v1.x", "v1.10.0"),
        ("v1.2.x", "v1.2.10"),
        ("v1.9.x", "v1.9.9"),
        ("v2", "v2.0.0"),
        ("v2.x", "v2.0.0"),
        ("v0.x", "v0.9.0"),
        ("v1.2.3", "v1.2.3"),
        ("1.2.3", "v1.2.3"),
        ("1.2.x", "v1.2.10"),
        ("v2.0.0-rc.1", "v2.0.0-rc.1"),
        ("v2.1.x", None),
        ("v3", None),
        ("v10", None),
        ("v1.2.4", None),
        ("v1.2", None),
        ("v1.x.3", None),
        ("main", None),
        ("", None),
    ],
)
def test_a_version_means_the_highest_match_and_a_pre_release_only_itself(wanted, found):
    for seed in range(5):
        available = KNOWN.copy()
        random.Random(seed).shuffle(available)
        assert select(wanted, available) == found


@pytest.mark.row("S2-11")
def test_numbers_are_compared_as_numbers_and_pre_releases_as_semantic_versions():
    rising = [
        "v1.0.0-1", "v1.0.0-2", "v1.0.0-10", "v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta", "v1.0.0-beta",
        "v1.0.0-beta.2", "v1.0.0-beta.11", "v1.0.0-rc.1", "v1.0.0", "v1.0.1", "v1.2.0", "v1.10.0", "v2.0.0",
    ]  # fmt: skip
    shuffled = random.Random(1).sample(rising, len(rising))
    assert sort_versions([*shuffled, "main", "v1", "latest"]) == tuple(reversed(rising))


def test_what_is_no_concrete_version_is_passed_over():
    assert select("latest", ["latest", "v9", "v9.x", "9.9", "v1.0.0", "v99.0.0+build", "", "v1.0.0 "]) == "v1.0.0"
    assert select("latest", []) is None
    assert select("latest", ["v1.0.0-rc.1"]) is None


def test_a_version_is_given_back_as_it_is_stored():
    assert select("v1.2.3", ["1.2.3"]) == "1.2.3"
    assert select("v1", ["1.2.3"]) == "1.2.3"


@pytest.mark.parametrize(
    ("text", "alias", "concrete"),
    [
        ("latest", True, False),
        ("v1", True, False),
        ("1", True, False),
        ("v1.x", True, False),
        ("v1.2.x", True, False),
        ("v1.2.3", False, True),
        ("1.2.3", False, True),
        ("v0.0.0", False, True),
        ("v1.2.3-rc.1", False, True),
        ("v1.2.3--", False, True),
        *(
            (text, False, False)
            for text in (
                "",
                "v",
                "vx",
                "x",
                "v1.2",
                "v1.2.3.4",
                "v1.2.3.x",
                "v01.2.3",
                "v1.02.3",
                "v1.2.3-",
                "v1.2.3-rc..1",
                "v1.2.3-01",
                "v1.2.3+build",
                "V1.2.3",
                "Latest",
                "v1.X",
                "v-1.0.0",
                " v1.2.3",
                "v1.2.3\n",
                "v1.٢.3",
                "v1.2.3-é",
                "v" + "1" * 5000 + ".0.0",
                "v1.2.3-" + "a" * 5000,
                "v1" * 100,
                None,
                1,
            )
        ),
    ],
)
def test_a_text_is_an_alias_or_a_concrete_version_or_neither(text, alias, concrete):
    assert (is_alias(text), is_concrete(text)) == (alias, concrete)
    if alias or concrete:
        assert normalize_version(text) == (text if text == "latest" or text[0] == "v" else f"v{text}")
    else:
        with pytest.raises(ValueError, match="write 'latest', 'v1'"):
            normalize_version(text)
