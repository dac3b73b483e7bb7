"""Who may ask what: every way in that must stay shut, and the ones that open."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from werkzeug.wrappers import Request, Response

from service.app import create_app
from service.config import Settings
from service.decisions.families import FAMILIES
from service.http import jwts
from service.http.auth import SCOPES, CredentialsUnavailable, InvalidCredentials, Tokens, new_token
from service.http.authenticator import scope_of
from service.http.jwts import LEEWAY_SECONDS
from tests.conftest import tokens_in
from tests.support.serving import DRIPS, answering, dripping

ASK = "/v1/partitions?key=a&partitions_count=3"
EXAMPLES = {
    "partitions": ("/v1/partitions", {"partitions_count": 3, "keys": ["a"]}),
    "groups": (
        "/v1/group-assignments",
        {"topics": [{"topic_name": "t", "partitions_count": 1}], "members": [{"member_id": "m"}]},
    ),
    "placements": (
        "/v1/replica-placements",
        {"partitions_count": 1, "replication_factor": 1, "brokers": [{"broker_id": 0}]},
    ),
    "decodings": ("/v1/decodings", {"kind": "assignment", "bytes_base64": "AAAAAAAAAAAAAA=="}),
}
AUDIENCE, ISSUER = "allocator", "https://issuer.example"


@cache
def rsa_key(name: str = "own") -> rsa.RSAPrivateKey:  # noqa: ARG001 (it tells them apart)
    """A key, "own" or "other". It takes 0.2 s to make, in each process that collects tests."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# ---- tokens ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """As everywhere, but one file for all tests: each app takes a sixth of a second to make."""
    return tokens_in(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="module")
def guarded(tokens):
    """A client of an app that asks for one of them."""
    return create_app(Settings(tokens_file=str(tokens[0]))).test_client()


def test_without_credentials_configured_everybody_may_ask(client):
    assert client.get(ASK).status_code == 200


def test_a_known_token_may_ask_and_others_may_not(guarded, tokens):
    assert guarded.get(ASK, headers=bearer(tokens[1]["partitions"])).status_code == 200
    for wrong in (
        "",
        "x",
        tokens[1]["partitions"][:-1],
        tokens[1]["partitions"] + "x",
        tokens[1]["partitions"].swapcase(),
        "é\udcff",
    ):
        assert guarded.get(ASK, headers=bearer(wrong.encode("utf-8", "surrogateescape").decode("latin-1"))).status_code == 401


def test_a_hash_is_no_token(guarded, tokens):
    """Who reads the file has nothing to show."""
    digest = hashlib.sha256(tokens[1]["*"].encode()).hexdigest()
    assert guarded.get(ASK, headers=bearer(digest)).status_code == 401


def test_no_credentials_are_a_401_that_says_how_to_come_back(guarded):
    response = guarded.get(ASK)
    assert response.status_code == 401
    assert response.mimetype == "application/problem+json"
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="partition-allocator"'
    assert response.json["type"].endswith(":unauthorized")
    wrong = guarded.get(ASK, headers=bearer("wrong"))
    assert 'error="invalid_token"' in wrong.headers["WWW-Authenticate"]


@pytest.mark.parametrize("header", ["Basic dTpw", "Bearer", "Bearer ", "bearer\t", "Token x", ""])
def test_other_schemes_are_not_credentials(guarded, header):
    assert guarded.get(ASK, headers={"Authorization": header}).status_code == 401


def test_the_scheme_is_written_in_any_case(guarded, tokens):
    assert guarded.get(ASK, headers={"Authorization": f"bEARER {tokens[1]['*']}"}).status_code == 200


def test_a_token_in_the_query_or_a_cookie_is_none(guarded, tokens):
    token = tokens[1]["*"]
    assert guarded.get(f"{ASK}&access_token={token}").status_code == 401
    assert guarded.get(ASK, headers={"Cookie": f"access_token={token}"}).status_code == 401
    assert guarded.post("/v1/partitions", data={"access_token": token}).status_code == 401


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_admits_to_its_own_families_only(guarded, tokens, scope):
    for family, (path, body) in EXAMPLES.items():
        response = guarded.post(path, json=body, headers=bearer(tokens[1][scope]))
        if family == scope:
            assert response.status_code == 200
        else:
            assert response.status_code == 403
            assert response.json["type"].endswith(":forbidden")
            assert f'error="insufficient_scope",scope="{family}"' in response.headers["WWW-Authenticate"].replace(", ", ",")
        assert guarded.post(path, json=body, headers=bearer(tokens[1]["*"])).status_code == 200


def test_every_decision_belongs_to_a_family(app):
    for rule in app.url_map.iter_rules():
        assert (scope_of(rule.rule) in SCOPES) == rule.rule.startswith("/v1/")
    assert {family.scope for family in FAMILIES} == set(SCOPES)
    with pytest.raises(LookupError):
        scope_of("/v1/something-new")


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/openapi.yaml", "/docs/"])
def test_health_metrics_and_the_contract_ask_for_no_token(guarded, path):
    assert guarded.get(path).status_code == 200


def test_a_refused_request_is_not_read(guarded):
    """A caller without a token costs no more than the answer."""
    assert guarded.post("/v1/partitions", data=b"{" * 10, content_type="application/json").status_code == 401


def test_a_replaced_file_shuts_out_and_lets_in_at_once(tmp_path):
    path, by_scope = tokens_in(tmp_path)
    guarded = create_app(Settings(tokens_file=str(path))).test_client()
    new, line = new_token("new", ("*",))
    replacement = path.with_name("replacement")
    replacement.write_text(line + "\n")
    replacement.rename(path)  # as Kubernetes does
    assert guarded.get(ASK, headers=bearer(by_scope["*"])).status_code == 401
    assert guarded.get(ASK, headers=bearer(new)).status_code == 200


def test_a_byte_order_mark_is_part_of_no_name(tmp_path):
    token, line = new_token("ci", ("*",))
    path = tmp_path / "tokens"
    for content in (f"\ufeff{line}\r\n", f"\ufeff# of May\n{line}\n"):
        path.write_text(content)
        assert Tokens(path).principal(token).name == "ci"


@pytest.mark.parametrize("content", ["one word", "name nothing-like-it " + "0" * 64, "name * 12", None, b"\xff"])
def test_a_file_that_becomes_unreadable_admits_no_caller_and_is_logged(guarded, tokens, caplog, content):
    path, by_scope = tokens
    before = path.read_bytes()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with caplog.at_level(logging.ERROR):
        response = guarded.get(ASK, headers=bearer(by_scope["*"]))
    assert (response.status_code, response.json["detail"]) == (503, "The tokens are unavailable; try again later.")
    assert response.headers["Retry-After"]
    assert "credentials cannot be read" in caplog.text
    path.write_bytes(before)
    assert guarded.get(ASK, headers=bearer(by_scope["*"])).status_code == 200


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("ci partitions", "line 1: must have three words .*, has 2"),
        ("# x\nci everything " + "0" * 64, "line 2: unknown scope 'everything'"),
        ("ci * secret", "64 hexadecimal digits"),
    ],
)
def test_a_file_that_cannot_be_read_at_the_start_is_refused_with_the_line(tmp_path, content, fault):
    path = tmp_path / "tokens"
    path.write_text(content)
    with pytest.raises(InvalidCredentials, match=fault):
        create_app(Settings(tokens_file=str(path)))
    with pytest.raises(InvalidCredentials, match="No such file"):
        create_app(Settings(tokens_file=str(tmp_path / "nowhere")))


def test_a_name_with_blanks_makes_no_line():
    with pytest.raises(ValueError, match="blanks"):
        new_token("two words", ("*",))


def test_with_authentication_off_no_token_is_needed(tokens):
    client = create_app(Settings(tokens_file=str(tokens[0]), auth="off")).test_client()
    assert client.get(ASK).status_code == 200


# ---- JWTs --------------------------------------------------------------------------------------------------------------


def jwk(key, kid="one", **members) -> dict:
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, **members}


def in_(seconds: float):
    """A time so far from when the test runs (not from when it was collected)."""
    return lambda: time.time() + seconds


def signed(key=None, algorithm="RS256", headers=None, **claims) -> str:
    """A JWT that is right in everything that is not given."""
    claims = {name: value() if callable(value) else value for name, value in claims.items()}
    payload = {"aud": AUDIENCE, "iss": ISSUER, "sub": "somebody", "exp": time.time() + 60, "scope": "openid partitions", **claims}
    given = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(given, key or rsa_key(), algorithm, headers={"kid": "one"} | (headers or {}))


def by_hand(header: dict, sign=lambda _: b"") -> str:
    """A JWT that no library would make."""
    claims = jwt.decode(signed(), options={"verify_signature": False})
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims))
    return f"{text}.{base64.urlsafe_b64encode(sign(text.encode())).rstrip(b'=').decode()}"


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(rsa_key())]}))
    return path


def jwt_settings(source) -> Settings:
    return Settings(jwks=str(source), jwt_audience=AUDIENCE, jwt_issuer=ISSUER)


@pytest.fixture(scope="module")
def by_jwt(tmp_path_factory):
    """A client of an app that asks for a JWT."""
    path = tmp_path_factory.mktemp("keys") / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(rsa_key())]}))
    return create_app(jwt_settings(path)).test_client()


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"scope": None, "scp": ["partitions"]},
        {"aud": ["other", AUDIENCE]},
        {"exp": in_(-2)},
        {"nbf": in_(-1)},
    ],
)
def test_a_jwt_of_the_issuer_may_ask(by_jwt, claims):
    response = by_jwt.get(ASK, headers=bearer(signed(**claims)))
    assert response.status_code == 200, response.text


def test_clocks_may_differ_a_little(by_jwt):
    assert by_jwt.get(ASK, headers=bearer(signed(exp=time.time() - LEEWAY_SECONDS + 5))).status_code == 200
    assert by_jwt.get(ASK, headers=bearer(signed(exp=time.time() - LEEWAY_SECONDS - 1))).status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"exp": in_(-60)}, id="expired"),
        pytest.param({"exp": None}, id="without an end"),
        pytest.param({"exp": "soon"}, id="with an end that is no time"),
        pytest.param({"nbf": in_(600)}, id="not yet valid"),
        pytest.param({"iat": in_(600)}, id="issued in the future"),
        pytest.param({"aud": "other"}, id="for another audience"),
        pytest.param({"aud": None}, id="for no audience"),
        pytest.param({"iss": "https://elsewhere.example"}, id="of another issuer"),
        pytest.param({"iss": ISSUER + "/"}, id="of nearly this issuer"),
        pytest.param({"iss": None}, id="of no issuer"),
        pytest.param({"sub": None}, id="about nobody"),
    ],
)
def test_a_jwt_that_was_not_made_for_this_is_a_401(by_jwt, claims):
    assert by_jwt.get(ASK, headers=bearer(signed(**claims))).status_code == 401


@pytest.mark.parametrize(
    "claims", [{"scope": None}, {"scope": "groups"}, {"scope": ["partitions"], "scp": None}, {"scope": "partitionsx"}]
)
def test_a_jwt_with_another_scope_is_a_403(by_jwt, claims):
    expected = 200 if claims.get("scope") == ["partitions"] else 403
    assert by_jwt.get(ASK, headers=bearer(signed(**claims))).status_code == expected


def public_pem() -> bytes:
    return rsa_key().public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: signed(rsa_key("other")), id="signed by another key"),
        pytest.param(lambda: signed(algorithm="RS512"), id="signed by an algorithm that is not pinned"),
        pytest.param(lambda: signed(algorithm="PS256"), id="signed by the same key in another way"),
        pytest.param(lambda: signed(ec.generate_private_key(ec.SECP256R1()), "ES256"), id="of another kind of key"),
        pytest.param(lambda: by_hand({"alg": "none", "kid": "one"}), id="alg none"),
        pytest.param(lambda: by_hand({"alg": "NoNe", "kid": "one"}), id="alg NoNe"),
        pytest.param(lambda: by_hand({"alg": "RS256", "kid": "one"}), id="without a signature"),
        pytest.param(lambda: by_hand({"kid": "one"}), id="without an algorithm"),
        pytest.param(
            lambda: by_hand({"alg": "HS256", "kid": "one"}, lambda text: hmac.digest(public_pem(), text, "sha256")),
            id="the public key taken for a shared secret",
        ),
        pytest.param(
            lambda: by_hand(
                {"alg": "HS256", "kid": "one"}, lambda text: hmac.digest(json.dumps(jwk(rsa_key())).encode(), text, "sha256")
            ),
            id="the JWK taken for a shared secret",
        ),
        pytest.param(lambda: signed(rsa_key("other"), headers={"jwk": jwk(rsa_key("other"))}), id="bringing its own key"),
        pytest.param(lambda: signed(rsa_key("other"), headers={"jku": "https://elsewhere.example/"}), id="naming its own keys"),
        pytest.param(lambda: signed(headers={"kid": "two"}), id="naming an unknown key"),
        pytest.param(lambda: signed(headers={"crit": ["exp"]}), id="with a critical extension"),
        pytest.param(lambda: signed() + "A", id="with more signature"),
        pytest.param(lambda: "..", id="empty"),
        pytest.param(lambda: "a.b.c", id="no base64"),
        pytest.param(lambda: by_hand({"alg": ["RS256"], "kid": {}}), id="with a header of odd types"),
        pytest.param(
            lambda: base64.urlsafe_b64encode(b"[" * 5000).decode().rstrip("=") + ".e30.e30", id="with a header that nests deeply"
        ),
    ],
)
def test_a_forged_jwt_is_a_401(by_jwt, make):
    response = by_jwt.get(ASK, headers=bearer(make()))
    assert response.status_code == 401
    assert response.json["detail"] in {"The token is not valid for this service.", "The token is unknown."}


def test_a_changed_payload_breaks_the_signature(by_jwt):
    header, _, signature = signed(scope="groups").split(".")
    payload = signed(scope="*").split(".")[1]
    assert by_jwt.get(ASK, headers=bearer(f"{header}.{payload}.{signature}")).status_code == 401


def test_a_shared_secret_in_the_key_set_is_not_used(keys):
    """A JWKS that wrongly publishes a symmetric key does not let everybody sign."""
    secret = base64.urlsafe_b64encode(b"0" * 32).rstrip(b"=").decode()
    keys.write_text(json.dumps({"keys": [{"kty": "oct", "k": secret, "kid": "one"}, jwk(rsa_key("other"), "two")]}))
    client = create_app(jwt_settings(keys)).test_client()
    assert client.get(ASK, headers=bearer(signed(b"0" * 32, "HS256"))).status_code == 401


def test_a_key_for_encryption_signs_nothing(keys):
    keys.write_text(json.dumps({"keys": [jwk(rsa_key(), use="enc"), jwk(rsa_key("other"), "two")]}))
    assert create_app(jwt_settings(keys)).test_client().get(ASK, headers=bearer(signed())).status_code == 401


def test_keys_are_rotated_by_replacing_the_file(keys):
    by_jwt = create_app(jwt_settings(keys)).test_client()
    assert by_jwt.get(ASK, headers=bearer(signed())).status_code == 200
    keys.write_text(json.dumps({"keys": [jwk(rsa_key("other"), "two")]}))
    assert by_jwt.get(ASK, headers=bearer(signed())).status_code == 401
    assert by_jwt.get(ASK, headers=bearer(signed(rsa_key("other"), headers={"kid": "two"}))).status_code == 200


def test_elliptic_curves_do_as_well(keys):
    key = ec.generate_private_key(ec.SECP256R1())
    keys.write_text(json.dumps({"keys": [jwk(rsa_key()), jwk(key, "two")]}))
    client = create_app(jwt_settings(keys)).test_client()
    assert client.get(ASK, headers=bearer(signed(key, "ES256", {"kid": "two"}))).status_code == 200
    assert client.get(ASK, headers=bearer(signed())).status_code == 200


def test_tokens_of_both_kinds_live_side_by_side(keys, tokens):
    client = create_app(replace(jwt_settings(keys), tokens_file=str(tokens[0]))).test_client()
    assert client.get(ASK, headers=bearer(signed())).status_code == 200
    assert client.get(ASK, headers=bearer(tokens[1]["partitions"])).status_code == 200


@contextmanager
def provider(keys: list[dict]):
    """An HTTP server with a key set: its URL, how often it was asked, and what it answers."""
    state = {"asked": 0, "keys": keys, "status": 200, "text": None, "location": None}

    @Request.application
    def answer(_):
        state["asked"] += 1
        text = state["text"] or json.dumps({"keys": state["keys"]})
        return Response(text, state["status"], headers={"Location": state["location"]} if state["location"] else {})

    with answering(answer) as url:
        yield f"{url}/jwks", state


def test_keys_come_from_a_url_and_unknown_names_do_not_make_it_ask_again_and_again():
    with provider([jwk(rsa_key())]) as (url, state):
        client = create_app(jwt_settings(url)).test_client()
        for _ in range(3):
            assert client.get(ASK, headers=bearer(signed())).status_code == 200
            assert client.get(ASK, headers=bearer(signed(headers={"kid": "unknown"}))).status_code == 401
        assert state["asked"] == 1


def test_while_the_provider_is_down_its_last_keys_count_and_it_is_left_alone(monkeypatch):
    with provider([jwk(rsa_key())]) as (url, state):
        monkeypatch.setattr(jwts, "LIFETIME_SECONDS", 0)
        monkeypatch.setattr(jwts, "REFRESH_SECONDS", 0)
        failures = []
        keys = jwts.KeyProvider(url, lambda: failures.append(1))
        assert not failures
        state["status"] = 500
        for _ in range(5):
            assert keys.key("one").key_id == "one"
        assert state["asked"] == 2
        assert len(failures) == 1
        monkeypatch.setattr(jwts, "RETRY_SECONDS", 0)
        fresh = jwts.KeyProvider(url, lambda: None)
        with pytest.raises(CredentialsUnavailable):
            fresh.key("one")
        state["status"] = 200
        assert fresh.key("one").key_id == "one"


def test_a_provider_that_never_answered_is_a_503_with_the_reason(caplog):
    client = create_app(jwt_settings("http://127.0.0.1:9/jwks")).test_client()
    for _ in range(2):
        response = client.get(ASK, headers=bearer(signed()))
        assert response.status_code == 503
        assert response.json["detail"] == "The signing keys are unavailable; try again later."
    assert caplog.text.count("the JWKS cannot be fetched") == 1


@pytest.mark.parametrize(
    "answer",
    [b"[]", b"{", b"\xff", b'{"keys": "' + b"x" * 2**20 + b'"}', b"[" * 100_000, b'{"keys": [{"kty": "oct"}]}'],
    ids=["array", "half", "binary", "large", "deep", "lacking"],
)
def test_a_providers_answer_that_is_no_key_set_changes_nothing(answer, monkeypatch):
    with provider([jwk(rsa_key())]) as (url, state):
        monkeypatch.setattr(jwts, "LIFETIME_SECONDS", 0)
        monkeypatch.setattr(jwts, "REFRESH_SECONDS", 0)
        keys = jwts.KeyProvider(url, lambda: None)
        state["text"] = answer
        assert keys.key("one").key_id == "one"
        assert state["asked"] == 2


def test_a_redirect_of_the_provider_is_not_followed():
    with provider([jwk(rsa_key())]) as (url, state):
        state |= {"status": 302, "location": url}
        with pytest.raises(CredentialsUnavailable):
            jwts.KeyProvider(url, lambda: None).key("one")
        assert state["asked"] == 1


@pytest.mark.parametrize("prefix", DRIPS.values(), ids=DRIPS)
def test_the_whole_answer_of_a_provider_has_a_deadline(prefix, monkeypatch, caplog):
    monkeypatch.setattr(jwts, "FETCH_SECONDS", 1.0)
    with dripping(prefix) as (url, connections):
        start = time.monotonic()
        keys = jwts.KeyProvider(url, lambda: None)
        assert 0.9 < time.monotonic() - start < 10
        with pytest.raises(CredentialsUnavailable):
            keys.key("one")
        assert len(connections) == 1
    assert [record.fault for record in caplog.records] == ["timed out"]


def test_a_provider_that_drips_delays_neither_health_nor_other_tokens(tokens, monkeypatch):
    """One request waits for it, for as long as it drips; all others are answered meanwhile."""
    monkeypatch.setattr(jwts, "FETCH_SECONDS", 0.5)
    monkeypatch.setattr(jwts, "RETRY_SECONDS", 0)
    unknown = bearer(signed())
    with ThreadPoolExecutor() as callers, dripping(DRIPS["in the body"]) as (url, connections):
        app = create_app(replace(jwt_settings(url), tokens_file=str(tokens[0])))
        before = len(connections)
        monkeypatch.setattr(jwts, "FETCH_SECONDS", 60)
        waiting = callers.submit(lambda: app.test_client().get(ASK, headers=unknown).status_code)
        while len(connections) == before and not waiting.done():
            time.sleep(0.01)
        client = app.test_client()
        for _ in range(3):
            assert client.get(ASK, headers=unknown).status_code == 503
            assert client.get("/healthz").status_code == 200
            assert client.get(ASK, headers=bearer(tokens[1]["partitions"])).status_code == 200
        assert len(connections) == before + 1
        assert not waiting.done()
    assert waiting.result() == 503


def test_a_file_without_keys_is_refused_at_the_start(keys):
    for content in ("", "{}", "[]", '{"keys": []}', '{"keys": [{"kty": "RSA"}]}', '{"keys": [{"kty": "oct"}]}'):
        keys.write_text(content)
        with pytest.raises(InvalidCredentials):
            create_app(jwt_settings(keys))
