"""``ssl.*`` properties, and the stores that they name → an ``ssl.SSLContext``.

=============== =================================================================================================
store           read by
=============== =================================================================================================
PEM             OpenSSL; also inline, in ``ssl.truststore.certificates`` and ``ssl.keystore.certificate.chain``
PKCS12          cryptography
JKS             ``_JavaStore``: Java's own format, whose keys are encrypted by SHA-1 alone
=============== =================================================================================================

As in Java, a store of type JKS may also be PKCS12, and every certificate of a truststore is trusted, not only roots.

Source: sun.security.provider.JavaKeyStore and KeyProtector (OpenJDK 17), DefaultSslEngineFactory.
"""

import hashlib
import hmac
import os
import ssl
import struct
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from service.http.bounded import UnreadableFile, read_small_file
from service.live.errors import WrongProperties

SSL_PROPERTIES: Final = (
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
_TYPES: Final = ("JKS", "PKCS12", "PEM")
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_JKS: Final = b"\xfe\xed\xfe\xed"
_PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True)
class Store:
    """What a store holds, as PEM. key, chain : of its first key, empty if it has none; trusted : every other certificate"""

    key: bytes = b""
    chain: bytes = b""
    trusted: bytes = b""


def ssl_context(properties: dict[str, str]) -> ssl.SSLContext:
    """The context of a client. Raises WrongProperties, which names the property."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https")
    if algorithm.lower() not in ("", "https"):
        raise WrongProperties(f"ssl.endpoint.identification.algorithm: {algorithm!r} is not supported; https or empty are.")
    context.check_hostname = bool(algorithm)
    context.minimum_version, context.maximum_version = _versions(properties)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    _load_truststore(context, properties)
    _load_keystore(context, properties)
    return context


def _versions(properties: dict[str, str]) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = properties.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").replace(" ", "").split(",")
    for name in (*names, properties.get("ssl.protocol", "TLSv1.3")):
        if name not in _VERSIONS:
            where = "ssl.enabled.protocols" if name in names else "ssl.protocol"
            raise WrongProperties(f"{where}: {name!r} is not supported; TLSv1.2 and TLSv1.3 are.")
    versions = [_VERSIONS[name] for name in names]
    return min(versions), max(versions)


def _load_truststore(context: ssl.SSLContext, properties: dict[str, str]) -> None:
    inline = properties.get("ssl.truststore.certificates")
    if inline is None and "ssl.truststore.location" not in properties:
        context.load_default_certs()  # Java would take its own cacerts
        return
    name = "ssl.truststore.certificates" if inline is not None else "ssl.truststore.location"
    store = Store(trusted=inline.encode()) if inline is not None else _store(properties, "ssl.truststore")
    try:
        context.load_verify_locations(cadata=(store.trusted or store.chain).decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise WrongProperties(f"{name}: no trusted certificate.") from None


def _load_keystore(context: ssl.SSLContext, properties: dict[str, str]) -> None:
    """Load the client's own key, if one is named. OpenSSL reads keys only from files: it gets one that no other user may read."""
    inline = "ssl.keystore.key" in properties or "ssl.keystore.certificate.chain" in properties
    if not inline and "ssl.keystore.location" not in properties:
        return
    name = "ssl.keystore.key" if inline else "ssl.keystore.location"
    if inline:
        parts = properties.get("ssl.keystore.key", ""), properties.get("ssl.keystore.certificate.chain", "")
        store = Store(parts[0].encode(), parts[1].encode())
    else:
        store = _store(properties, "ssl.keystore")
    password = properties.get("ssl.key.password") or properties.get("ssl.keystore.password") or ""
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(store.key + b"\n" + store.chain)
        context.load_cert_chain(path, password=password)
    except (ssl.SSLError, ValueError) as error:
        raise WrongProperties(f"{name}: no usable private key and certificate ({error}).") from None
    finally:
        Path(path).unlink()


def _store(properties: dict[str, str], prefix: str) -> Store:
    """The store that ``<prefix>.location`` names."""
    kind = properties.get(f"{prefix}.type", "JKS").upper()
    if kind not in _TYPES:
        raise WrongProperties(f"{prefix}.type: {kind!r} is not supported; {', '.join(_TYPES)} are.")
    location = properties[f"{prefix}.location"]
    try:
        data = read_small_file(location)
    except UnreadableFile as error:
        raise WrongProperties(f"{prefix}.location: {location}: {error}") from None
    if kind == "PEM":
        return Store(key=data, trusted=data)
    password = properties.get(f"{prefix}.password")
    try:
        if data[:4] == _JKS:
            return _JavaStore(data, password).read(properties.get("ssl.key.password") or password or "")
        return _pkcs12(data, password)
    except (ValueError, struct.error, IndexError):
        raise WrongProperties(
            f"{prefix}.location: {location} is not a readable {kind} store, or the password is wrong."
        ) from None


def _pkcs12(data: bytes, password: str | None) -> Store:
    content = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    others = b"".join(each.certificate.public_bytes(_PEM) for each in content.additional_certs)
    if content.key is None:
        return Store(trusted=others)
    own = b"" if content.cert is None else content.cert.certificate.public_bytes(_PEM)
    return Store(_key_pem(content.key), own + others, others)


def _key_pem(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


@dataclass
class _JavaStore:
    """A reader of the JKS format: a header, entries, and a SHA-1 of the password and all of it. Raises ValueError."""

    data: bytes
    password: str | None
    at: int = field(default=0)

    def read(self, key_password: str) -> Store:
        body, digest = self.data[:-20], self.data[-20:]
        if self.password is not None:
            salted = self.password.encode("utf-16-be") + b"Mighty Aphrodite" + body
            if not hmac.compare_digest(hashlib.sha1(salted, usedforsecurity=False).digest(), digest):
                raise ValueError("the password is wrong")
        _, version, count = self._take(">4sii")
        trusted, key, chain = b"", b"", b""
        for _ in range(count):
            (tag,) = self._take(">i")
            self._bytes(">H")  # the alias
            self._take(">q")  # when it was made
            if tag == 2:
                trusted += self._certificate(version)
                continue
            protected = self._bytes(">i")
            certificates = b"".join(self._certificate(version) for _ in range(self._take(">i")[0]))
            if not key:
                key, chain = _unprotected(protected, key_password), certificates
        return Store(key, chain, trusted)

    def _certificate(self, version: int) -> bytes:
        if version == 2:
            self._bytes(">H")  # its type, X.509
        return x509.load_der_x509_certificate(self._bytes(">i")).public_bytes(_PEM)

    def _bytes(self, size: str) -> bytes:
        (length,) = self._take(size)
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError("truncated")
        self.at += length
        return self.data[self.at - length : self.at]

    def _take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values


def _unprotected(protected: bytes, password: str) -> bytes:
    """The private key (PEM) from an EncryptedPrivateKeyInfo of Sun's KeyProtector: salt, key XOR a chain of SHA-1, check."""
    octets = _last_octet_string(protected)
    salt, encrypted, check = octets[:20], octets[20:-20], octets[-20:]
    secret = password.encode("utf-16-be")
    stream, digest = b"", salt
    while len(stream) < len(encrypted):
        digest = hashlib.sha1(secret + digest, usedforsecurity=False).digest()
        stream += digest
    plain = bytes(a ^ b for a, b in zip(encrypted, stream, strict=False))
    if hashlib.sha1(secret + plain, usedforsecurity=False).digest() != check:
        raise ValueError("the key's password is wrong")
    return _key_pem(serialization.load_der_private_key(plain, None))


def _last_octet_string(der: bytes) -> bytes:
    """The OCTET STRING of SEQUENCE { AlgorithmIdentifier, OCTET STRING }."""
    at = _content(der, 0)[0]
    begin, length = _content(der, at)
    begin, length = _content(der, begin + length)
    return der[begin : begin + length]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Where the content of the DER element at this position begins, and its length."""
    size = der[at + 1]
    if size < 0x80:
        return at + 2, size
    end = at + 2 + (size & 0x7F)
    return end, int.from_bytes(der[at + 2 : end], "big")
