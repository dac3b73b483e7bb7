"""Values that make no sense are refused, in words that name them."""

from __future__ import annotations

import pytest

from tests.support.charts import TOKENS, refusal

JWT = {"jwks": "https://login.example/jwks", "audience": "allocator", "issuer": "https://login.example/"}

CASES = {
    "a misspelt value": ({"replica": 3}, "additional properties 'replica' not allowed"),
    "a misspelt value in a section": ({"autoscaling": {"min": 3}}, "at '/autoscaling': additional properties 'min' not allowed"),
    "a misspelt setting": ({"settings": {"max_key": 3}}, "at '/settings': additional properties 'max_key' not allowed"),
    "a setting that is no number": ({"settings": {"workers": "two"}}, "at '/settings/workers': got string, want integer"),
    "a setting that has its own value": ({"settings": {"auth": "off"}}, "additional properties 'auth' not allowed"),
    "a negative number": ({"replicas": -1}, "at '/replicas': minimum: got -1, want 0"),
    "a word for a number": ({"service": {"port": "http"}}, "at '/service/port': got string, want integer"),
    "a port that there is not": ({"service": {"port": 70000}}, "at '/service/port': maximum: got 70,000, want 65,535"),
    "a section that is removed": ({"image": None}, "missing property 'image'"),
    "no more than 100 percent": ({"autoscaling": {"cpuUtilization": 170}}, "/autoscaling/cpuUtilization': maximum"),
    "fewer pods at most than at least": (
        {"replicas": 7, "autoscaling": {"enabled": True}},
        "replicas (7) is above autoscaling.maxReplicas (6)",
    ),
    "a budget of words": ({"disruptionBudget": {"maxUnavailable": "some"}}, "at '/disruptionBudget/maxUnavailable'"),
    "a namespace that cannot be": ({"networkPolicy": {"fromNamespaces": ["A B"]}}, "at '/networkPolicy/fromNamespaces/0'"),
    "keys fetched without TLS": ({"auth": {"jwt": {**JWT, "jwks": "http://x/"}}}, "at '/auth/jwt/jwks'"),
    "nobody who may enter": ({"auth": {"existingSecret": ""}}, "set auth.existingSecret"),
    "tokens made for anybody": ({"auth": {"jwt": {**JWT, "audience": ""}}}, "auth.jwt.jwks needs auth.jwt.audience"),
    "keys that cannot be fetched": ({"auth": {"jwt": JWT}}, "add a rule to networkPolicy.egress"),
    "a file of keys from nowhere": (
        {"auth": {"existingSecret": "", "jwt": {**JWT, "jwks": "/etc/partition-allocator/auth/jwks.json"}}},
        "auth.jwt.jwks is a file of auth.existingSecret, which is not set",
    ),
    "a pipeline without a job": ({"pipeline": {"cronJob": {"enabled": True}}}, "pipeline.arguments is empty"),
    "memory without its unit": ({"pipeline": {"driver": {"memory": "1024"}}}, "at '/pipeline/driver/memory'"),
}


@pytest.mark.parametrize(("changes", "words"), CASES.values(), ids=CASES)
def test_values_that_make_no_sense_are_refused(changes, words):
    values = {**TOKENS, **changes}
    if "auth" in changes:
        values["auth"] = {**TOKENS["auth"], **changes["auth"]}
    said = refusal(values)
    assert words in said
