"""The JSON form of each family, a module each: the schemas, ``document``, ``FORM``; their operations are in ``views.py``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from service.decisions.families import BY_PATH

if TYPE_CHECKING:
    from service.http.forms import Form


def form_of(path: str) -> Form[Any, Any]:
    """The form of the family that has this path. Only its modules are imported."""
    form: Form[Any, Any] = import_module(f"service.api.{BY_PATH[path].name}").FORM
    return form
