"""Properties files are read as Java reads them; what cannot be used is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kafka.errors import WrongProperties
from service.kafka.properties import client_settings, parse_properties, read_properties
from tests.support.jvm import spark_jvm

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
    java = spark_jvm().java
    properties = java.util.Properties()
    try:
        properties.load(java.io.StringReader(text))
        expected = dict(properties)
    except Exception:  # noqa: BLE001 - a malformed escape
        with pytest.raises(ValueError, match="Malformed"):
            parse_properties(text)
    else:
        empty = {("", "")}
        assert parse_properties(text).items() - empty == expected.items() - empty


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
        (oauth("clientId=a", url="http://localhost/"), "client.secret: it is missing, and clientSecret in sasl.jaas.config too"),
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
    monkeypatch.setattr("service.kafka.sasl.find_spec", lambda _: True)
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
