"""``sasl.*`` properties → the SASL settings of the client library.

=============== ========================================================================================================
mechanism       credentials
=============== ========================================================================================================
PLAIN, SCRAM    username and password in ``sasl.jaas.config``
OAUTHBEARER     a token: see ``oauth.py``
GSSAPI          the Kerberos ticket in the default cache, or a keytab that ``KRB5_CLIENT_KTNAME`` names; see MIT Kerberos
=============== ========================================================================================================

Source: SaslConfigs and JaasConfig (``sasl.jaas.config``), KerberosLogin.
"""

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from service.live.errors import WrongProperties
from service.live.security.oauth import OAUTH_PROPERTIES, token_provider

_SECURITY: Final = "org.apache.kafka.common.security"
KERBEROS_SERVICE: Final = "sasl.kerberos.service.name"
SASL_PROPERTIES: Final = ("sasl.mechanism", "sasl.jaas.config", KERBEROS_SERVICE, *OAUTH_PROPERTIES)

_VALUE: Final = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)"""
_OPTION: Final = re.compile(rf"([^\s=]+)\s*=\s*({_VALUE})", re.DOTALL)
_ENTRY: Final = re.compile(rf"\s*(?P<module>\S+)\s+\w+(?P<options>(?:\s+[^\s=]+\s*=\s*{_VALUE})*)\s*;\s*", re.DOTALL)
"""One login module: its class, a flag, and options."""

Options = dict[str, str]


def sasl_settings(properties: dict[str, str]) -> dict[str, Any]:
    """The settings of the mechanism. Raises WrongProperties, and Unreachable if no token can be had."""
    mechanism = properties.get("sasl.mechanism", "GSSAPI")  # Kafka's default
    if mechanism not in _MECHANISMS:
        raise WrongProperties(f"sasl.mechanism: {mechanism!r} is not supported; supported are {', '.join(_MECHANISMS)}.")
    module, settings = _MECHANISMS[mechanism]
    entry = _ENTRY.fullmatch(properties.get("sasl.jaas.config", ""))
    if entry is None:
        raise WrongProperties("sasl.jaas.config: it must be one login module: <class> required <option>=<value> …;")
    if entry["module"] != module:
        raise WrongProperties(f"sasl.jaas.config: the mechanism {mechanism} needs {module}.")
    options = {name: _unquoted(value) for name, value in _OPTION.findall(entry["options"])}
    return {"sasl_mechanism": mechanism, **settings(options, properties)}


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value


def _password(options: Options, _: dict[str, str]) -> dict[str, Any]:
    for name in ("username", "password"):
        if name not in options:
            raise WrongProperties(f"sasl.jaas.config: {name} is missing.")
    _refuse_others(options, ("username", "password"))
    return {"sasl_plain_username": options["username"], "sasl_plain_password": options["password"]}


def _oauth(options: Options, properties: dict[str, str]) -> dict[str, Any]:
    return {"sasl_oauth_token_provider": token_provider(options, properties)}


def _kerberos(options: Options, properties: dict[str, str]) -> dict[str, Any]:
    if find_spec("gssapi") is None:
        raise WrongProperties("sasl.mechanism: GSSAPI (Kerberos) needs the Python package gssapi: pip install gssapi.")
    if options.get("useKeyTab", "false").lower() == "true":
        raise WrongProperties("sasl.jaas.config: useKeyTab is not supported; name the keytab by KRB5_CLIENT_KTNAME.")
    _refuse_others(options, ("serviceName", "useTicketCache", "useKeyTab"))
    service = properties.get(KERBEROS_SERVICE) or options.get("serviceName")
    if service is None:
        raise WrongProperties(f"{KERBEROS_SERVICE}: missing, and so is serviceName in sasl.jaas.config.")
    return {"sasl_kerberos_service_name": service}


def _refuse_others(options: Options, known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise WrongProperties(f"sasl.jaas.config: the option {name} is not supported.")


_MECHANISMS: Final[dict[str, tuple[str, Callable[[Options, dict[str, str]], dict[str, Any]]]]] = {
    "PLAIN": (f"{_SECURITY}.plain.PlainLoginModule", _password),
    "SCRAM-SHA-256": (f"{_SECURITY}.scram.ScramLoginModule", _password),
    "SCRAM-SHA-512": (f"{_SECURITY}.scram.ScramLoginModule", _password),
    "OAUTHBEARER": (f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule", _oauth),
    "GSSAPI": ("com.sun.security.auth.module.Krb5LoginModule", _kerberos),
}
"""The login module of each mechanism, and what makes settings of its options and the other properties."""
