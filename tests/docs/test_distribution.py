"""The wheel carries its license and describes the project."""

from __future__ import annotations

import zipfile
from email.parser import HeaderParser

from hatchling.build import build_wheel

from tests.support.golden import PROJECT


def test_the_wheel_contains_license_and_notice_and_names_no_author(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        files = {name.rpartition("/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
        metadata = HeaderParser().parsestr(wheel.read(files["METADATA"]).decode())
        assert wheel.read(files["LICENSE"]) == (PROJECT / "LICENSE").read_bytes()
        assert b"Apache Kafka" in wheel.read(files["NOTICE"])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert not {"Author", "Author-email", "Maintainer", "Maintainer-email", "Project-URL"} & set(metadata)
    assert "Framework :: Flask" in metadata.get_all("Classifier")
