"""References: four shapes, and what is said of everything else."""

import pytest

from skillbelt.errors import InvalidPackageIdError, InvalidPackageReferenceError, RegistryError
from skillbelt.packages import PackageId, PackageReference

ID = "pkg_skl_" + "0123456789" * 4


def fields(reference):
    return (reference.scheme, reference.host, reference.namespace, reference.name, reference.version)


@pytest.mark.row("S2-04")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hub.example.com:acme/pdf@v1.2.3", ("host", "hub.example.com", "acme", "pdf", "v1.2.3")),
        ("hub.example.com:acme/pdf@v1.x", ("host", "hub.example.com", "acme", "pdf", "v1.x")),
        ("Hub.Example.COM:Acme_1/pdf-forms@latest", ("host", "hub.example.com", "Acme_1", "pdf-forms", "latest")),
        ("localhost:acme/pdf@v1", ("host", "localhost", "acme", "pdf", "v1")),
        ("127.0.0.1:8731:acme/pdf@v1.2.x", ("host", "127.0.0.1:8731", "acme", "pdf", "v1.2.x")),
        ("[::1]:8731:acme/pdf", ("host", "[::1]:8731", "acme", "pdf", "latest")),
        ("[2001:db8::1]:acme/pdf", ("host", "[2001:db8::1]", "acme", "pdf", "latest")),
        ("h:a/b@1.2.3-rc.1", ("host", "h", "a", "b", "v1.2.3-rc.1")),
        ("host:acme/the\u0301", ("host", "host", "acme", "thé", "latest")),
        ("host:acme/泡茶", ("host", "host", "acme", "泡茶", "latest")),
    ],
)
def test_a_reference_to_a_host_has_four_fields(text, expected):
    reference = PackageReference.parse(text)
    assert fields(reference) == expected
    assert (reference.id, reference.path) == (None, None)
    assert str(reference) == reference.text == text


@pytest.mark.row("S2-05")
@pytest.mark.parametrize("text", ["hub.example.com:acme/pdf", "registry:acme/pdf"])
def test_without_a_version_the_latest_is_meant(text):
    assert PackageReference.parse(text).version == "latest"


@pytest.mark.row("S2-06")
def test_an_id_needs_no_host_and_no_namespace():
    reference = PackageReference.parse(f"ID:{ID}")
    assert fields(reference) == ("id", None, None, None, None)
    assert reference.id == PackageId.parse(ID)


@pytest.mark.row("S2-07")
@pytest.mark.parametrize("path", ["./skills/pdf", "../pdf", "/srv/skills/pdf", "pdf", "~/pdf", "./a b/ü@v1", "./x:y"])
def test_a_local_reference_is_a_path_as_it_was_typed(path):
    reference = PackageReference.parse(f"local:{path}")
    assert fields(reference) == ("local", None, None, None, None)
    assert reference.path == path


@pytest.mark.row("S2-08")
def test_the_scheme_registry_is_the_default_host():
    assert fields(PackageReference.parse("registry:acme/pdf@v1")) == ("registry", None, "acme", "pdf", "v1")


@pytest.mark.row("S2-09")
@pytest.mark.parametrize("text", ["HUB.example.com:a/b@1.2.3", f"ID:{ID}", "local:./x", "registry:a/b"])
def test_a_reference_keeps_the_words_it_was_typed_in(text):
    reference = PackageReference.parse(text)
    assert reference.text == str(reference) == f"{reference}" == text
    assert PackageReference.parse(reference) is reference


@pytest.mark.row("S2-10")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no ':'"),
        ("pdf", "no ':'"),
        ("acme/pdf", "no ':'"),
        ("acme/pdf@v1", "no ':'"),
        (":acme/pdf", "'' is no host"),
        ("hub example:acme/pdf", "is no host"),
        ("-hub.com:acme/pdf", "is no host"),
        ("hub..com:acme/pdf", "is no host"),
        ("hüb.com:acme/pdf", "is no host"),
        ("user@hub.com:acme/pdf", "is no host"),
        ("1.2.3.400:acme/pdf", "is no host"),
        ("[::g]:acme/pdf", "is no host"),
        ("[1:2]:acme/pdf", "is no host"),
        ("x" * 64 + ":acme/pdf", "is no host"),
        (".".join(["x" * 60] * 5) + ":acme/pdf", "is no host"),
        ("hub:0:acme/pdf", "0 is no port"),
        ("hub:65536:acme/pdf", "65536 is no port"),
        ("hub:port:acme/pdf", "is no host"),
        ("https://hub.com/acme/pdf", "it is a URL"),
        ("hub.com:pdf", "no 'namespace/name'"),
        ("registry:pdf", "no 'namespace/name'"),
        ("registry:pdf@v1", "no 'namespace/name'"),
        ("hub.com:/pdf", "the namespace ''"),
        ("registry:ac me/pdf", "the namespace 'ac me'"),
        ("registry:ac.me/pdf", "the namespace"),
        ("registry:" + "a" * 65 + "/pdf", "the namespace"),
        ("registry:acme/", "no name of a skill"),
        ("registry:acme/a/b", "no name of a skill"),
        ("registry:acme/PDF", "no name of a skill"),
        ("registry:acme/a_b", "no name of a skill"),
        ("registry:acme/-a", "no name of a skill"),
        ("registry:acme/a--b", "no name of a skill"),
        ("registry:acme/..", "no name of a skill"),
        ("registry:acme/" + "a" * 65, "no name of a skill"),
        ("registry:acme/pdf@", "'' is no version"),
        ("registry:acme/pdf@v1.2", "'v1.2' is no version"),
        ("registry:acme/pdf@newest", "is no version"),
        ("registry:acme/pdf@v1@v2", "is no version"),
        ("registry:acme/pdf?version=v1", "no name of a skill"),
        ("local:", "names no folder"),
        ("local: ", "blanks around it"),
        (" registry:a/b", "blanks around it"),
        ("registry:a/b\n", "do not show"),
        ("registry:a/b\u202e", "do not show"),
        ("local:./a\x00", "do not show"),
        ("local:" + "x" * 5000, "too long"),
        ("id:pkg_skl_x", "the scheme is written 'ID'"),
        ("Local:./x", "the scheme is written 'local'"),
        ("REGISTRY:a/b", "the scheme is written 'registry'"),
    ],
)  # fmt: skip
def test_any_other_shape_is_refused_and_the_right_ones_are_shown(text, why):
    with pytest.raises(InvalidPackageReferenceError) as caught:
        PackageReference.parse(text)
    assert why in caught.value.message
    assert "'host:namespace/name@version', 'registry:namespace/name@version'" in caught.value.message
    assert caught.value.original_reference == text
    assert isinstance(caught.value, RegistryError) and isinstance(caught.value, ValueError)
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize("value", [None, 7, b"local:./x", ["local:./x"]])
def test_what_is_no_text_is_no_reference(value):
    with pytest.raises(InvalidPackageReferenceError, match="A reference is text, not"):
        PackageReference.parse(value)


@pytest.mark.row("S2-02", "S2-10")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ID:pkg_skl_a1b2c3d4e5f67890a1b2c3d4e5f67890abcdef", "38 characters, not 40"),
        ("ID:", "known prefix"),
        (f"ID:pkg_act_{'a' * 40}", "type 'actor'"),
        (f"ID:{ID}@v1", "43 characters"),
    ],
)
def test_a_bad_id_makes_a_bad_reference_and_is_both_errors(text, why):
    with pytest.raises(InvalidPackageIdError, match=why) as caught:
        PackageReference.parse(text)
    assert isinstance(caught.value, InvalidPackageReferenceError)
    assert caught.value.original_reference == text
