"""The canonical bytes of a document, its id and its integrity."""

import base64
import hashlib
import json
import random
import sys
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from packages_kit import document
from skillbelt.errors import MissingExtraError, PackageValidationError
from skillbelt.packages import PackageType, canonicalize, id_of, integrity, package_id

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


def shuffled(value, seed=3):
    if isinstance(value, dict):
        keys = random.Random(seed).sample(list(value), len(value))
        return {key: shuffled(value[key], seed + 1) for key in keys}
    return [shuffled(item, seed) for item in value] if isinstance(value, list) else value


def nfc_clash(value):
    if isinstance(value, dict):
        return len({normalize("NFC", key) for key in value}) < len(value) or any(map(nfc_clash, value.values()))
    return isinstance(value, list) and any(map(nfc_clash, value))


@pytest.mark.row("S2-12")
@given(st.dictionaries(st.text(), JSON, max_size=6), st.integers(0, 99))
def test_the_order_of_keys_never_matters(value, seed):
    if nfc_clash(value):
        with pytest.raises(PackageValidationError, match="two of its keys are one"):
            canonicalize(value)
        return
    canonical = canonicalize(value)
    assert canonicalize(shuffled(value, seed)) == canonical
    assert canonicalize(json.loads(canonical)) == canonical


@pytest.mark.row("S2-13")
def test_strings_are_compared_in_nfc_keys_and_values_alike():
    composed = {"name": "café", "metadata": {"clé": "é", "liste": ["Å"]}}
    decomposed = {"name": "cafe\u0301", "metadata": {"cle\u0301": "e\u0301", "liste": ["\u212b"]}}
    assert composed != decomposed
    assert canonicalize(composed) == canonicalize(decomposed)


@pytest.mark.row("S2-14")
def test_keys_stand_in_the_order_of_their_utf_16_code_units():
    # As in RFC 8785, section 3.2.3 (whose U+FB33 is no NFC): U+1F600 stands before U+FF21, though it is greater.
    keys = ["\u20ac", "\r", "\uff21", "1", "\U0001f600", "\x80", "ö"]
    canonical = canonicalize(dict.fromkeys(keys, 0))
    assert list(json.loads(canonical)) == ["\r", "1", "\x80", "ö", "\u20ac", "\U0001f600", "\uff21"]
    assert sorted(keys) != list(json.loads(canonical))
    files = {"assets/\uff21.md": {"text": ""}, "assets/\U0001f600.md": {"text": ""}}
    assert list(json.loads(canonicalize({"files": files}))["files"]) == ["assets/\U0001f600.md", "assets/\uff21.md"]


@pytest.mark.row("S2-14")
def test_the_bytes_are_those_of_rfc_8785():
    value = {"b": [1, True, None, 0.5, 1e21], "a": '\x00\x1f"\\/\u2028€\n'}
    assert canonicalize(value) == ('{"a":"\\u0000\\u001f\\"\\\\/\u2028€\\n","b":[1,true,null,0.5,1e+21]}'.encode())


@pytest.mark.row("S2-15")
def test_version_and_release_date_are_left_out_at_the_top_and_nowhere_else():
    plain = document(metadata={"version": "3", "release_date": "then"})
    for lifecycle in (
        {"version": "v1.0.0"},
        {"release_date": "2026-01-31"},
        {"version": "v2.0.0", "release_date": "x"},
    ):
        assert canonicalize(plain | lifecycle) == canonicalize(plain)
        assert package_id(plain | lifecycle) == package_id(plain)
    assert b'"metadata":{"release_date":"then","version":"3"}' in canonicalize(plain)
    assert package_id(document(metadata={"version": "4"})) != package_id(document(metadata={"version": "3"}))


@pytest.mark.row("S2-16")
def test_the_id_is_the_sha_1_of_the_canonical_bytes_and_the_integrity_their_sha_256():
    value = document()
    canonical = canonicalize(value)
    found = package_id(value)
    assert found.type is PackageType.SKILL
    assert str(found) == "pkg_skl_" + hashlib.sha1(canonical).hexdigest()
    assert found == id_of(canonical)
    assert integrity(value) == integrity(canonical)
    assert integrity(value) == "sha256-" + base64.b64encode(hashlib.sha256(canonical).digest()).decode()


@pytest.mark.row("S2-16")
def test_the_id_of_a_known_document_does_not_change():
    assert str(package_id(document())) == "pkg_skl_7aa6d5df2e9424a6f26c2c5b5378013128810b42"


@pytest.mark.row("S2-16")
@given(st.dictionaries(st.text(), JSON, max_size=4), st.dictionaries(st.text(), JSON, max_size=4))
def test_documents_that_say_different_things_have_different_ids(one, other):
    assume(not nfc_clash([one, other]))
    first, second = canonicalize(one), canonicalize(other)
    assert (package_id(one) == package_id(other)) == (first == second)
    assert (first == second) == (json.loads(first) == json.loads(second))


@pytest.mark.row("S2-17")
def test_a_reference_inside_a_skill_is_only_text():
    text = "Use registry:acme/pdf@latest."
    one = document(description=text)
    assert text.encode() in canonicalize(one)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": float("nan")}, "nan"),
        ({"a": float("inf")}, "inf"),
        ({"a": 2**53}, "9007199254740992"),
        ({"a": {1, 2}}, "unsupported type"),
        ({"a": b"x"}, "unsupported type"),
        ({"a": {1: "x"}}, "a key is a number, not text"),
        ({1: "x"}, "a key is a number, not text"),
        ({"a": "\ud800"}, "UTF-8"),
        ({"\udfff": "a"}, "half a character"),
        ({"é": 1, "e\u0301": 2}, "two of its keys are one"),
        (["a"], "it is a list, not an object"),
        ("{}", "it is a str, not an object"),
        (None, "it is a NoneType, not an object"),
    ],
)
def test_what_is_no_json_has_no_canonical_form(value, why):
    for function in (canonicalize, package_id, integrity):
        with pytest.raises(PackageValidationError, match="no canonical form") as caught:
            function(value)
        assert why in caught.value.message
        assert caught.value.details["violations"][0]["code"] == "not-json"


def test_a_document_nested_without_end_has_no_canonical_form():
    deep = {}
    for _ in range(sys.getrecursionlimit() * 2):
        deep = {"a": deep}
    with pytest.raises(PackageValidationError, match="nested too deeply"):
        canonicalize(deep)


def test_without_the_package_that_writes_rfc_8785_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rfc8785", None)
    with pytest.raises(MissingExtraError, match=r'pip install "skillbelt\[registry\]"'):
        canonicalize({})
