"""A real broker with a rack, TLS, SASL and ACLs, one for all tests of live clusters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate

from tests.support.broker import Broker, running_broker
from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "store-secret"  # noqa: S105 - of stores that live as long as the tests

_LISTENERS = """
broker.rack=rack-a
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},\
SASL_PLAINTEXT://127.0.0.1:{sasl},SSL://127.0.0.1:{tls},SASL_SSL://127.0.0.1:{sasl_tls}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SASL_PLAINTEXT://127.0.0.1:{sasl},SSL://127.0.0.1:{tls},\
SASL_SSL://127.0.0.1:{sasl_tls}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin
ssl.principal.mapping.rules=RULE:^.*CN=([a-z]+).*$/$1/
ssl.keystore.type=PKCS12
ssl.keystore.location={folder}/broker.p12
ssl.keystore.password=store-secret
ssl.truststore.type=PEM
ssl.truststore.location={folder}/authority.pem
listener.name.ssl.ssl.client.auth=required
group.share.record.lock.duration.ms=15000
"""
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecuredBroker:
    """A broker that anybody may do anything with over PLAINTEXT, and users with ACLs over the other listeners."""

    plain: Broker
    sasl: str
    tls: str
    sasl_tls: str
    folder: Path
    """``authority.pem``, ``client.pem`` (key and certificate of admin), ``authority.p12`` and ``client.p12`` with PASSWORD."""


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """The broker. Users: ``admin`` may do anything, ``reader`` what docs/live-cluster.md lists, ``stranger`` nothing."""
    folder = tmp_path_factory.mktemp("kafka-security")
    _make_stores(folder)
    ports = {"sasl": free_port(), "tls": free_port(), "sasl_tls": free_port()}
    lines = _LISTENERS.format(folder=folder, **ports)
    for listener in ("sasl_plaintext", "sasl_ssl"):
        users = " ".join(f'user_{user}="{user}-secret"' for user in ("admin", "reader", "stranger"))
        prefix = f"listener.name.{listener}"
        lines += f"{prefix}.plain.sasl.jaas.config={_LOGIN}.plain.PlainLoginModule required {users};\n"
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            lines += f"{prefix}.{mechanism}.sasl.jaas.config={_LOGIN}.scram.ScramLoginModule required;\n"
        module = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule"
        lines += f'{prefix}.oauthbearer.sasl.jaas.config={module} required unsecuredLoginStringClaim_sub="broker";\n'
    with running_broker(lines) as plain:
        _make_users(AdminClient({"bootstrap.servers": plain.bootstrap}))
        yield SecuredBroker(plain, *(f"127.0.0.1:{port}" for port in ports.values()), folder)


def _make_stores(folder: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    trusted = load_pem_x509_certificate(authority.cert_pem.bytes())
    (folder / "authority.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(
            None, None, None, [trusted], serialization.BestAvailableEncryption(PASSWORD.encode())
        )
    )
    for name, certificate in (
        ("broker", authority.issue_cert("127.0.0.1", "localhost")),
        ("client", authority.issue_cert("client.example", common_name="admin")),
    ):
        certificate.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
        key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
        chain = load_pem_x509_certificate(certificate.cert_chain_pems[0].bytes())
        content = pkcs12.serialize_key_and_certificates(
            name.encode(), key, chain, None, serialization.BestAvailableEncryption(PASSWORD.encode())
        )
        (folder / f"{name}.p12").write_bytes(content)


def _make_users(admin: AdminClient) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        credentials = [
            UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), f"{user}-secret".encode())
            for user in ("admin", "reader")
        ]
        for future in admin.alter_user_scram_credentials(credentials).values():
            future.result(120)
    allowed = [
        ("admin", ResourceType.BROKER, "kafka-cluster", AclOperation.ALL),
        ("admin", ResourceType.TOPIC, "*", AclOperation.ALL),
        ("admin", ResourceType.GROUP, "*", AclOperation.ALL),
        ("reader", ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE),
        ("reader", ResourceType.TOPIC, "*", AclOperation.DESCRIBE),
        ("reader", ResourceType.GROUP, "*", AclOperation.DESCRIBE),
        ("reader", ResourceType.TOPIC, "__consumer_offsets", AclOperation.READ),
    ]
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for user, kind, name, operation in allowed
    ]
    for future in admin.create_acls(bindings).values():
        future.result(120)
