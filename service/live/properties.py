"""The properties files of Kafka's own tools (``--command-config``) → the settings of the client library.

Every property about security is either used or refused by name: one that is silently ignored could mean another identity or a
weaker connection than intended. Other properties that this client does not have, such as ``max.poll.records``, are ignored, as by
Kafka's clients.

Source: java.util.Properties.load for the syntax, org.apache.kafka.clients.CommonClientConfigs, SslConfigs and SaslConfigs for the
names.
"""

import re
from pathlib import Path
from typing import Any, Final

from kafka.cluster import collect_hosts

from service.http.bounded import UnreadableFile, read_small_file
from service.live.errors import WrongProperties
from service.live.security.key_stores import SSL_PROPERTIES, ssl_context
from service.live.security.sasl import SASL_PROPERTIES, sasl_settings

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NUMBERS: Final = {
    name: name.replace(".", "_")
    for name in (
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    )
}
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """The properties of a file. Raises WrongProperties if it cannot be read."""
    try:
        text = read_small_file(path).decode("latin-1")
    except UnreadableFile as error:
        raise WrongProperties(f"{path}: {error}") from None
    try:
        return parse_properties(text)
    except ValueError as error:
        raise WrongProperties(f"{path}: {error}") from None


def parse_properties(text: str) -> dict[str, str]:
    r"""Properties as java.util.Properties reads them; raises ValueError for a malformed ``\u`` escape."""
    properties = {}
    for line in _logical_lines(text):
        split = re.match(r"((?:[^\\=:\s]|\\.)*)\s*[=:]?\s*(.*)", line, re.DOTALL)
        if split:
            properties[_unescaped(split[1])] = _unescaped(split[2])
    return properties


def _logical_lines(text: str) -> list[str]:
    """Lines without comments, blank lines and leading blanks; an odd number of backslashes at the end joins the next line."""
    lines: list[list[str]] = []
    joins = False
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not (joins and lines[-1]) and (not line or line[0] in "#!"):
            continue  # java.util.Properties looks for comments until a logical line has its first character
        trailing = len(line) - len(line.rstrip("\\"))
        content = line[:-1] if trailing % 2 else line
        if not joins:
            lines.append([])
        if content:
            lines[-1].append(content)
        joins = bool(trailing % 2)
    return [line for line in map("".join, lines) if line]


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise ValueError("Malformed \\uxxxx encoding.")
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|(.))", character, text, flags=re.DOTALL)


def bootstrap_servers(text: str) -> list[str]:
    """The servers of ``bootstrap.servers``. Raises WrongProperties for one without a host, or whose port is none."""
    servers = [server for server in map(str.strip, text.split(",")) if server]
    for server in servers:
        try:
            ((host, port, _),) = collect_hosts([server])
        except ValueError:
            host, port = "", 0
        if not (host and 0 < port < 2**16):
            raise WrongProperties(f"bootstrap.servers: {server!r} is not HOST:PORT, such as localhost:9092.")
    return servers


def client_settings(properties: dict[str, str]) -> dict[str, Any]:
    """The settings of ``client.ClusterClient``.

    Raises WrongProperties for a property about security that cannot be used, and for a value that is not one of its kind.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise WrongProperties(f"security.protocol: {protocol!r} is not one of {', '.join(PROTOCOLS)}.")
    _refuse_unknown(properties)
    settings: dict[str, Any] = {"security_protocol": protocol}
    if "client.id" in properties:
        settings["client_id"] = properties["client.id"]
    for name, setting in _NUMBERS.items():
        if name in properties:
            settings[setting] = _number(name, properties[name])
    if protocol.startswith("SASL_"):
        settings |= sasl_settings(properties)
    if protocol.endswith("SSL"):
        settings["ssl_context"] = ssl_context(properties)
    return settings


def _refuse_unknown(properties: dict[str, str]) -> None:
    """Raise WrongProperties for what changes an identity, a key or the protection of a connection, and is not used here."""
    for name, value in properties.items():
        if name == "config.providers" or re.search(r"\$\{[^}:]+:", value):
            raise WrongProperties(f"{name}: configuration providers are not supported; write the value itself into the file.")
        security = name.startswith(("ssl.", "sasl.", "security."))
        timing = name.startswith(("sasl.login.refresh.", "sasl.login.retry."))
        if security and not timing and name not in (*SSL_PROPERTIES, *SASL_PROPERTIES, "security.protocol"):
            raise WrongProperties(f"{name}: this property is not supported.")


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\s*\d{1,18}\s*", text):
        raise WrongProperties(f"{name}: {text!r} is not a number of milliseconds.")
    return int(text)
