"""Each file that a start reads, cut, emptied, replaced or of another kind: a sentence that names it, and at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from service.config import Settings
from service.http.auth import new_token
from service.server.serving import Refusal, _check, _tls_contexts

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = ("tokens_file", "jwks", "tls_cert", "tls_key")
AUTHORITY = trustme.CA()
CERTIFICATE = AUTHORITY.issue_cert("localhost")


@pytest.fixture(scope="module")
def key() -> dict[str, object]:
    """A key of an issuer of tokens, which takes a while to make."""
    return RSAAlgorithm.to_jwk(rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key(), as_dict=True)


@pytest.fixture
def settings(tmp_path: Path, key: dict[str, object]) -> Settings:
    """Settings that name a file each."""
    contents = {
        "tokens_file": new_token("ci", ("*",))[1].encode() + b"\n",
        "jwks": json.dumps({"keys": [key | {"use": "sig"}]}).encode(),
        "tls_cert": CERTIFICATE.cert_chain_pems[0].bytes(),
        "tls_key": CERTIFICATE.private_key_pem.bytes(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    paths = {name: str(tmp_path / name) for name in contents}
    return Settings(jwt_audience="a", jwt_issuer="i", **paths)  # type: ignore[arg-type]


def _start(settings: Settings) -> None:
    _check(settings, "127.0.0.1", loopback=True)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _replace(path: Path) -> None:
    path.write_bytes(os.urandom(500))


DAMAGES = {
    "cut": _cut,
    "emptied": lambda path: path.write_bytes(b""),
    "replaced": _replace,
    "gone": Path.unlink,
    "folder": _folder,
    "pipe": _pipe,
    "device": _device,
    "endless": lambda path: path.write_bytes(b"\n" * (2**20 + 1)),
}


def test_as_they_should_be(settings: Settings) -> None:
    """The files themselves start."""
    _start(settings)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files(settings: Settings, name: str, damage: Callable[[Path], object]) -> None:
    """One sentence, which begins with the name of the file. A tokens file may be empty: nobody is admitted yet."""
    path = Path(getattr(settings, name))
    damage(path)
    if name == "tokens_file" and damage is DAMAGES["emptied"]:
        _start(settings)
        return
    with pytest.raises(Refusal) as caught:
        _start(settings)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.endswith((".", "digits", "hash"))
    assert "Errno" not in text
    assert "\n" not in text


def test_a_key_of_another_certificate_and_an_encrypted_one(settings: Settings, tmp_path: Path) -> None:
    """Neither starts, and the second asks no terminal for its password."""
    other = tmp_path / "other"
    other.write_bytes(AUTHORITY.issue_cert("localhost").private_key_pem.bytes())
    with pytest.raises(Refusal, match=f"{other}: The private key is not that of the certificate in {settings.tls_cert}."):
        _start(replace(settings, tls_key=str(other)))
    key = serialization.load_pem_private_key(CERTIFICATE.private_key_pem.bytes(), None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    other.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, encryption))
    with pytest.raises(Refusal, match=f"{other}: The file has no private key in PEM format, or it is encrypted."):
        _start(replace(settings, tls_key=str(other)))


def test_a_certificate_that_goes_while_the_service_runs(settings: Settings) -> None:
    """Connections keep the last certificate while its files are replaced, whatever stands in their place meanwhile."""
    context = _tls_contexts(settings)
    first = context(None, None)
    content = Path(settings.tls_key).read_bytes()
    for damage in DAMAGES.values():
        path = Path(settings.tls_key)
        damage(path)
        assert context(None, None) is first
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(content)


def test_the_command() -> None:
    """What its user sees: exit status 2 and one line."""
    environment = os.environ | {"ALLOCATOR_TLS_CERT": "/dev/zero", "ALLOCATOR_TLS_KEY": "/dev/zero"}
    done = subprocess.run(
        [sys.executable, "-m", "service", "serve"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (2, "Error: /dev/zero: This is a device, not a regular file.\n")
