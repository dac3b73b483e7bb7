"""The page's files: what is served and how, without a browser."""

from __future__ import annotations

import gzip
import json
import os
import re
from hashlib import sha256

import pytest

from service.page.views import FOLDER, files
from tests.support import vendor

OWN = sorted(path for path in FOLDER.rglob("*.js") if vendor.VENDOR not in path.parents)
LIBRARIES = sorted(path for path in vendor.VENDOR.rglob("*.js"))


def test_every_library_is_the_one_that_the_record_names():
    record = json.loads(vendor.RECORD.read_text())
    assert {path.relative_to(vendor.VENDOR).as_posix(): sha256(path.read_bytes()).hexdigest() for path in LIBRARIES} == {
        name: entry["sha256"] for name, entry in record.items()
    }
    lock = json.loads((vendor.PROJECT / "package-lock.json").read_text())["packages"]
    assert {(entry["package"], entry["version"]) for entry in record.values()} == {
        (entry["package"], lock[f"node_modules/{entry['package']}"]["version"]) for entry in record.values()
    }


def test_the_record_is_what_npm_brings():
    if not vendor.PACKAGES.exists():
        assert "CI" not in os.environ, "npm ci has not run"
        pytest.skip("the packages are not installed: npm ci")
    assert vendor.record() == json.loads(vendor.RECORD.read_text())
    assert vendor.notices() == vendor.NOTICES.read_text()


def test_the_lock_file_names_no_host():
    lock = json.loads((vendor.PROJECT / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in lock.items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock.items() if name)


@pytest.mark.parametrize("path", [*OWN, *LIBRARIES], ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_script_makes_code_from_text(path):
    assert not re.search(r"\bnew Function\b|\beval\(|WebAssembly|document\.write", path.read_text())


def test_scripts_and_libraries_are_small():
    served = {path: file for path, file in files().items() if path.endswith((".js", ".css", ".html"))}
    assert sum(len(file.compressed) for file in served.values()) < 300_000


def test_every_import_leads_to_a_file():
    for path in [*OWN, *LIBRARIES]:
        for target in re.findall(
            r'(?:from|import)\s*\(?"([./@\w][^"]*)"', re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        ):
            assert target.startswith("."), (path, target)
            assert (path.parent / target).resolve().relative_to(FOLDER).as_posix() in files(), (path, target)


def test_the_page_and_its_files_have_a_strict_policy(client):
    response = client.get("/")
    policy = response.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(rb"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", response.data)
    linked = re.findall(r'(?:href|src)="(page/[^"]+)"', response.text)
    assert len(linked) > 4
    for path in linked:
        plain, packed = (client.get(f"/{path}", headers={"Accept-Encoding": coding}) for coding in ("identity", "gzip"))
        assert plain.status_code == 200
        assert plain.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert gzip.decompress(packed.data) == plain.data
        assert plain.headers["Content-Security-Policy"] == policy


@pytest.mark.parametrize("path", ["vendor/vendor.json", "vendor/preact.d.ts", "../views.py", "..%2fviews.py", "nothing.js", ""])
def test_nothing_else_is_served(client, path):
    version = re.search(r"page/(\w+)/", client.get("/").text)[1]
    assert client.get(f"/page/{version}/{path}").status_code == 404
    assert client.get("/page/other/app.js").status_code == 404


def test_the_notices_are_served_and_linked(client):
    version = re.search(r"page/(\w+)/", client.get("/").text)[1]
    text = client.get(f"/page/{version}/vendor/NOTICES.txt").text
    assert all(name in text for name in ("preact", "htm", "d3-array", "hyparquet", "flechette", "fzstd"))
    assert "vendor/NOTICES.txt" in (FOLDER / "app.js").read_text()
