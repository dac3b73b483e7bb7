"""Properties files are read as Java reads them; what cannot be used is refused by name."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.wrappers import Response

from service.live.errors import Unreachable, WrongProperties
from service.live.properties import bootstrap_servers, client_settings, parse_properties, read_properties
from tests.support.jvm import kafka_jvm
from tests.support.serving import DRIPS, answering, dripping

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLogin"


def oauth(options: str, handler: str = f"{OAUTH}CallbackHandler", url: str = "") -> dict[str, str]:
    """An OAUTHBEARER login; unsecured unless a URL or a handler is given."""
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    properties["sasl.jaas.config"] = f"{OAUTH}Module required {options};"
    if url or not handler.startswith(OAUTH):
        properties |= {"sasl.login.callback.handler.class": handler, "sasl.oauthbearer.token.endpoint.url": url}
    return properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b\nc : d\ne f\n", {"a": "b", "c": "d", "e": "f"}),
        ("# comment\n! another\n\n  a = b \\\n    c\n", {"a": "b c"}),
        ("a\\=b=\\u00e9\\t\nc=x\\\\\n", {"a=b": "é\t", "c": "x\\"}),
        ("a\r\nb=1\r", {"a": "", "b": "1"}),
        ("\\\n# comment\n\\\n\nb=1\n", {"b": "1"}),
    ],
)
def test_syntax(text: str, properties: dict[str, str]) -> None:
    """Separators, comments, continuation lines and escapes."""
    assert parse_properties(text) == properties


@pytest.mark.slow
@given(st.text(st.sampled_from("ab=: \t\f\\#!\nurn0"), max_size=30))
def test_syntax_is_javas(text: str) -> None:
    """Whatever the text, java.util.Properties reads the same, or refuses it too.

    A backslash that ends the file is an empty property there, whose name and value are empty, and no property here.
    """
    java = kafka_jvm().java
    properties = java.util.Properties()
    try:
        properties.load(java.io.StringReader(text))
        expected = dict(properties)
    except Exception:  # noqa: BLE001 - a malformed escape
        with pytest.raises(ValueError, match="Malformed"):
            parse_properties(text)
    else:
        found = parse_properties(text)
        assert {name: value for name, value in found.items() if name} == {name: value for name, value in expected.items() if name}


@pytest.mark.parametrize("server", ["localhost:x", "localhost:65536", ":9092", "[::1", "localhost:"])
def test_what_is_no_server_is_refused(server: str) -> None:
    """By name; the library has the text of Python's ``int``."""
    with pytest.raises(WrongProperties, match=f"^bootstrap.servers: {re.escape(repr(server))} is not HOST:PORT, such as"):
        bootstrap_servers(f"localhost:9092,{server}")


def test_servers() -> None:
    """As Kafka's clients read them."""
    assert bootstrap_servers("[::1]:9092, kafka-1:9092,") == ["[::1]:9092", "kafka-1:9092"]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: 'TLS' is not one of"),
        ({"ssl.engine.factory.class": "x"}, "ssl.engine.factory.class: this property is not supported"),
        ({"sasl.login.class": "x"}, "sasl.login.class"),
        ({"config.providers": "file"}, "configuration providers"),
        ({"sasl.jaas.config": "${file:/x:y}"}, "configuration providers"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms: 'soon' is not a number"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "MD5"},
            "sasl.mechanism: 'MD5' is not supported; supported are PLAIN",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.jaas.config": f"{KERBEROS};"}, "pip install gssapi"),
        (oauth("scope=a"), "the option scope needs sasl.login.callback.handler.class"),
        (oauth("unsecuredLoginNumberClaim_a=b"), "could not convert string to float: 'b'"),
        (oauth("unsecuredLoginStringClaim_a=b"), "unsecuredLoginStringClaim_sub is missing"),
        (oauth("", handler="x"), "sasl.login.callback.handler.class: 'x' is not"),
        (oauth("", url="ftp://x"), "sasl.oauthbearer.token.endpoint.url: 'ftp://x' is not an http"),
        (oauth("clientId=a", url="http://localhost/"), "client.secret: missing, and so is clientSecret in sasl.jaas.config"),
        (oauth("clientID=a", url="http://localhost/"), "sasl.jaas.config: the option clientID is not supported"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config: it must be one login module"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{LOGIN} username=a;"},
            "sasl.jaas.config: password is missing",
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": f"{LOGIN} username=a;",
            },
            "needs org.apache.kafka.common.security.scram.ScramLoginModule",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/no/such/file"},
            "ssl.truststore.location: /no/such/file: No such",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "BKS", "ssl.truststore.location": "x"},
            "ssl.truststore.type: 'BKS'",
        ),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1"}, "ssl.enabled.protocols: 'TLSv1'"),
    ],
)
def test_refusals(properties: dict[str, str], message: str) -> None:
    """The error begins with the property's name."""
    with pytest.raises(WrongProperties, match=message.replace("$", r"\$")):
        client_settings(properties)


def test_login_options() -> None:
    """Quotes, escapes and blanks of a JAAS entry."""
    login = LOGIN + ' username="a \\"b\\"" \n password=c;'
    settings = client_settings({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login})
    assert (settings["sasl_plain_username"], settings["sasl_plain_password"]) == ('a "b"', "c")


def test_kerberos(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ticket is the system's; the service's name is the property's, or the login option's."""
    monkeypatch.setattr("service.live.security.sasl.find_spec", lambda _: True)
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": f"{KERBEROS} useTicketCache=true serviceName=a;"}
    expected = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "a"}
    assert client_settings(properties) == expected
    properties["sasl.kerberos.service.name"] = "b"
    assert client_settings(properties)["sasl_kerberos_service_name"] == "b"
    for options, message in (("useKeyTab=true", "KRB5_CLIENT_KTNAME"), ("principal=x", "the option principal is not supported")):
        with pytest.raises(WrongProperties, match=message):
            client_settings({**properties, "sasl.jaas.config": f"{KERBEROS} {options};"})


def test_other_properties_are_ignored(tmp_path: Path) -> None:
    """As Kafka's clients ignore what they do not know."""
    file = tmp_path / "client.properties"
    file.write_text("max.poll.records=5\nrequest.timeout.ms=1000\nclient.id=me\n")
    assert client_settings(read_properties(file)) == {
        "security_protocol": "PLAINTEXT",
        "request_timeout_ms": 1000,
        "client_id": "me",
    }


@pytest.mark.parametrize("name", ["ssl.truststore.location", "ssl.keystore.location"])
@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS"])
@pytest.mark.parametrize(
    "content", [None, b"", b"\xfe\xed\xfe\xed\x00\x00\x00\x02\x7f\xff\xff\xff", "caf\u00e9".encode(), b"\x30\x80"]
)
def test_stores_that_are_none(tmp_path: Path, name: str, kind: str, content: bytes | None) -> None:
    """A store that is cut, empty, replaced or a device is named by its property; nothing hangs and nothing is a traceback."""
    path = Path("/dev/zero") if content is None else tmp_path / "store"
    if content is not None:
        path.write_bytes(content)
    properties = {"security.protocol": "SSL", name: str(path), name.replace("location", "type"): kind}
    with pytest.raises(WrongProperties, match=f"^{name}: .*[.]$") as caught:
        client_settings(properties)
    assert content is not None or "This is a device, not a regular file." in str(caught.value)


def test_files_that_are_no_properties(tmp_path: Path) -> None:
    """Nor does the properties file itself, or a token's, have to end."""
    for path in ("/dev/zero", str(tmp_path)):
        with pytest.raises(WrongProperties, match=f"^{path}: This is a d[a-z]+, not a regular file.$"):
            read_properties(Path(path))
    with pytest.raises(Unreachable, match=r"/dev/zero: This is a device, not a regular file\."):
        client_settings(oauth("", url="file:/dev/zero"))


@pytest.mark.parametrize("prefix", DRIPS.values(), ids=DRIPS)
def test_the_whole_answer_of_a_provider_has_a_deadline(prefix: bytes) -> None:
    """A token endpoint that sends a byte now and then is an error once the time is over."""
    with dripping(prefix) as (url, connections):
        started = time.monotonic()
        timeout = {"sasl.login.read.timeout.ms": "1000"}
        with pytest.raises(Unreachable, match=f"^sasl.oauthbearer.token.endpoint.url: {url}: .*"):
            client_settings(oauth('clientId="a" clientSecret="b"', url=url) | timeout)
        assert time.monotonic() - started > 0.9
        assert len(connections) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(b" " * 2**20 + b"{}"), "the response is longer than 1048576 bytes"),
        (Response(b"bad gateway" * 100, 502), "502 BAD GATEWAY: (bad gateway){18}ba"),
        (Response(b"", 302, {"Location": "http://127.0.0.1:9/"}), "302 FOUND"),
    ],
)
def test_answers_without_a_token(answer: Response, reason: str) -> None:
    """A token endpoint can neither fill the memory nor send the credentials to another address."""
    with answering(answer) as url, pytest.raises(Unreachable, match=f"{url}: {reason}$"):
        client_settings(oauth('clientId="a" clientSecret="b"', url=url))


def test_lines_without_an_end() -> None:
    """A value of 16 times as many lines takes no more than 64 times as long, not 256."""

    def seconds(lines: int) -> float:
        text = "a=\\\n" + "x\\\n" * lines
        started = time.thread_time()
        properties = parse_properties(text)
        taken = time.thread_time() - started
        assert properties == {"a": "x" * lines}
        return taken

    assert seconds(320_000) < 64 * min(seconds(20_000) for _ in range(3))
