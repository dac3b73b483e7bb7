"""One question, several doors: HTTP, command line and library give the same answer."""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib import import_module

import orjson
import pytest
from marshmallow import Schema

from partition_allocator.asking import ask as by_library
from service.api import form_of
from service.app import create_app
from service.cli import ask as by_command
from service.core.budget import Budget
from service.decisions.families import FAMILIES
from tests.runs.extremes import BODIES, VECTORS

EVERY = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])


def example(family):
    return import_module(f"service.api.{family.name}").EXAMPLE


@pytest.fixture(scope="module")
def client():
    return create_app().test_client()


@EVERY
def test_every_door_answers_alike(family, client):
    response = client.post(family.path, json=example(family))
    assert response.status_code == 200
    assert by_command(family.path, orjson.dumps(example(family))) == response.data
    assert by_library(family.path, example(family), "dict") == response.json


@EVERY
def test_a_table_is_the_same_by_every_door(family, client):
    response = client.post(family.path, json=example(family), headers={"Accept": "text/csv"})
    assert response.status_code == 200
    if response.mimetype == "text/csv":
        assert by_command(family.path, example(family), "csv") == response.data
    else:  # a single capture has no table
        assert form_of(family.path).table is None or family.name == "decodings"


@EVERY
def test_a_question_is_frozen_and_its_schema_makes_nothing_else(family):
    form = form_of(family.path)
    assert isinstance(form.schema, Schema)
    question = form.question(example(family))
    assert is_dataclass(question)
    assert type(question).__dataclass_params__.frozen
    assert type(question).__module__.startswith(
        ("service.api.", "service.decisions.", "service.descriptions.", "service.histories.")
    )
    answer = form.decide(question, Budget())
    assert is_dataclass(answer)
    assert answer.figures.items


def test_the_run_of_extreme_values_knows_every_family():
    assert {family.path for family in FAMILIES} <= {*BODIES, *VECTORS}
