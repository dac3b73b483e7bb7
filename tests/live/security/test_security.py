"""TLS and SASL by the properties of Kafka's own tools, and principals that may not see everything."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from service.live.client import ClusterClient
from service.live.errors import Unreachable
from service.live.properties import client_settings, parse_properties
from service.live.snapshot import SnapshotExtent, take_snapshot
from tests.live.conftest import PASSWORD
from tests.support.jvm import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.live.conftest import SecuredBroker

pytestmark = pytest.mark.slow

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{0}" password="{0}-secret";'
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="{0}" password="{0}-secret";'


def snapshot_of(bootstrap: str, properties: str, **extent: Any) -> dict[str, Any]:
    """A snapshot by a client with these properties."""
    with ClusterClient(bootstrap, client_settings(parse_properties(properties)), bootstrap_ms=5000) as client:
        return take_snapshot(client, SnapshotExtent(**extent))


def fields(snapshot: dict[str, Any]) -> set[str]:
    """What the snapshot does not know, but the patch release."""
    return {entry["field"] for entry in snapshot["not_known"]} - {"kafka_version"}


@pytest.mark.parametrize(("mechanism", "login"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)])
def test_sasl(secured: SecuredBroker, mechanism: str, login: str) -> None:
    """With the permissions that docs/live-cluster.md lists, everything is known."""
    topic = secured.plain.topic(3)
    properties = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login.format('reader')}\n"
    snapshot = snapshot_of(secured.sasl, properties, with_offsets_topic=True)
    assert topic in {described["topic_name"] for described in snapshot["topics"]}
    assert "used_bytes" in snapshot["brokers"][0]
    assert fields(snapshot) == set()


OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLogin"


def oauth(options: str, *more: str) -> str:
    """The properties of an OAUTHBEARER login."""
    login = f"sasl.jaas.config={OAUTH}Module required {options};"
    return "\n".join(("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", login, *more))


def test_unsecured_tokens(secured: SecuredBroker) -> None:
    """The login options of test clusters; the token's subject is the principal."""
    properties = oauth(
        'unsecuredLoginStringClaim_sub="reader" unsecuredLoginListClaim_scope="|a|b" unsecuredLoginNumberClaim_n="1"'
    )
    assert fields(snapshot_of(secured.sasl, properties, with_offsets_topic=True)) == set()


class _Provider(BaseHTTPRequestHandler):
    """Gives a token of an hour to whoever knows the secret, as an OAuth provider does."""

    forms: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.forms.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        name, _, secret = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode().partition(":")
        now = time.time()
        parts = [{"alg": "none"}, {"sub": name, "iat": now, "exp": now + 3600}]
        token = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
        right = secret == "s3cret"  # noqa: S105 - of this provider
        self.send_response(200 if right else 401)
        self.end_headers()
        answer = {"access_token": token, "expires_in": 3600} if right else {"error": "invalid_client"}
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The URL of its tokens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def test_tokens_of_a_provider(secured: SecuredBroker, provider: str, tmp_path: Path) -> None:
    """Client credentials as login options and as properties; one token serves all connections. Then the token from a file."""
    from_provider = f"sasl.login.callback.handler.class={OAUTH}CallbackHandler\nsasl.oauthbearer.token.endpoint.url={provider}"
    options = oauth('clientId="reader" clientSecret="s3cret" scope="kafka x" extension_a="b"', from_provider)
    assert fields(snapshot_of(secured.sasl, options, with_offsets_topic=True)) == set()
    assert _Provider.forms == ["grant_type=client_credentials&scope=kafka+x"]
    client = "sasl.oauthbearer.client.credentials.client"
    properties = oauth("", from_provider, f"{client}.id=stranger", f"{client}.secret=s3cret")
    assert "groups" in fields(snapshot_of(secured.sasl, properties))
    with pytest.raises(Unreachable, match=r"/token: 401 Unauthorized: \{\"error\": \"invalid_client\"\}"):
        snapshot_of(secured.sasl, options.replace("s3cret", "wrong"))
    token = client_settings(parse_properties(options))["sasl_oauth_token_provider"].token()
    (tmp_path / "to ken").write_text(token + "\n")
    assert snapshot_of(secured.sasl, options.replace(provider, (tmp_path / "to ken").as_uri()))["brokers"]
    (tmp_path / "to ken").write_text("x.y.")
    with pytest.raises(Unreachable, match=r"AuthenticationFailed|credentials it refuses"):
        snapshot_of(secured.sasl, options.replace(provider, (tmp_path / "to ken").as_uri()))


def test_sasl_over_tls(secured: SecuredBroker) -> None:
    """Both together."""
    properties = (
        f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN.format('reader')}\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={secured.folder}/authority.pem\n"
    )
    assert snapshot_of(secured.sasl_tls, properties)["brokers"]


def test_wrong_password(secured: SecuredBroker) -> None:
    """The broker's own words say why, if they arrive before it disconnects."""
    login = PLAIN.format("reader").replace("reader-secret", "wrong")
    properties = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n"
    with pytest.raises(Unreachable, match=r"Invalid username or password|credentials it refuses"):
        snapshot_of(secured.sasl, properties)


def test_without_permissions(secured: SecuredBroker) -> None:
    """A principal without ACLs gets what brokers tell everybody, and the reasons for the rest."""
    topic = secured.plain.topic(2)
    properties = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN.format('stranger')}\n"
    snapshot = snapshot_of(secured.sasl, properties, topic_names=[topic], group_ids=["billing"], with_offsets_topic=True)
    assert snapshot["topics"] == snapshot["groups"] == []
    assert snapshot["brokers"][0]["rack_id"] == "rack-a"
    reasons = {entry["field"]: entry["reason"] for entry in snapshot["not_known"]}
    assert reasons["topics[]"] == "TOPIC_AUTHORIZATION_FAILED"
    assert reasons["brokers[].used_bytes"] == "CLUSTER_AUTHORIZATION_FAILED"
    assert "Describe on the cluster" in reasons["groups"]
    assert "may not describe it" in reasons["groups[]"]


def _keytool(command: str, *arguments: str) -> None:
    subprocess.run(["keytool", *(f"-J{flag}" for flag in SHORT_LIVED), command, *arguments], check=True, capture_output=True)


def _keytool_store(secured: SecuredBroker, tmp_path: Path, name: str) -> str:
    """A store in Java's own format, converted by keytool."""
    target = tmp_path / f"{name}.jks"
    source = ["-srckeystore", str(secured.folder / f"{name}.p12"), "-srcstorepass", PASSWORD]
    destination = ["-destkeystore", str(target), "-deststoretype", "JKS", "-deststorepass", PASSWORD]
    _keytool("-importkeystore", *source, *destination)
    return str(target)


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS", "inline"])
def test_mutual_tls(secured: SecuredBroker, tmp_path: Path, kind: str) -> None:
    """The client's key and the trusted authority from every type of store."""
    if kind == "inline":
        certificate = (secured.folder / "client.pem").read_text()
        key, chain = (
            certificate.partition("-----BEGIN CERTIFICATE")[0],
            certificate[certificate.index("-----BEGIN CERTIFICATE") :],
        )
        stores = {
            "ssl.truststore.certificates": (secured.folder / "authority.pem").read_text(),
            "ssl.keystore.key": key,
            "ssl.keystore.certificate.chain": chain,
        }
    else:
        paths = {name: str(secured.folder / f"{name}.{'pem' if kind == 'PEM' else 'p12'}") for name in ("authority", "client")}
        if kind == "JKS":
            authority = str(tmp_path / "authority.jks")
            store = ("-keystore", authority, "-storetype", "JKS", "-storepass", PASSWORD)
            certificate = str(secured.folder / "authority.pem")
            _keytool("-importcert", "-noprompt", "-file", certificate, "-alias", "authority", *store)
            paths = {"authority": authority, "client": _keytool_store(secured, tmp_path, "client")}
        stores = {"ssl.truststore.location": paths["authority"], "ssl.keystore.location": paths["client"]}
        stores |= {f"ssl.{side}.type": kind for side in ("truststore", "keystore")}
        if kind != "PEM":
            stores |= {f"ssl.{side}.password": PASSWORD for side in ("truststore", "keystore")}
    with ClusterClient(secured.tls, client_settings({"security.protocol": "SSL", **stores}), bootstrap_ms=5000) as client:
        snapshot = take_snapshot(client, SnapshotExtent())
    assert fields(snapshot) <= {"groups[].generation_id", "groups[].members"}


def test_broker_that_is_not_trusted(secured: SecuredBroker, tmp_path: Path) -> None:
    """Without the authority, the certificate is refused, and the command line says so, on one line."""
    (tmp_path / "client.properties").write_text("security.protocol=SSL\n")
    command = [sys.executable, "-m", "service", "snapshot", "--bootstrap-server", secured.tls]
    command += ["--command-config", str(tmp_path / "client.properties")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "certificate verify failed" in done.stderr
    assert done.stderr.count("\n") == 1
