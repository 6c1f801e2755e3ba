"""The public face of the package: lazy, complete, and light to import."""

import subprocess
import sys

import pytest

from skillbelt import packages


def test_every_public_name_is_there_and_listed():
    assert set(packages.__all__) <= set(dir(packages))
    for name in packages.__all__:
        assert getattr(packages, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'packs'"):
        _ = packages.packs


def test_reading_a_reference_imports_neither_an_http_client_nor_the_hashing_library():
    code = (
        "import sys; from skillbelt.packages import PackageReference; PackageReference.parse('registry:a/b');"
        "print(sorted({'httpx', 'httpcore', 'rfc8785', 'starlette', 'filelock'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_unpacking_needs_no_optional_package():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('rfc8785', 'httpx', 'filelock')));"
        "from packages_kit import document; from skillbelt.packages import unpack;"
        "print(unpack(document()).list()[0].name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": "tests"}
    )
    assert done.stdout == "mail\n"
