"""The answer of ``POST /v1/reassignments:lint``: its schema, its JSON, its table."""

from typing import Any

import pyarrow as pa
from marshmallow import Schema, fields

from service.core.reassignments.lint import Finding, Lint
from service.web.fields import about


class FindingSchema(Schema):
    """Something to mend."""

    severity = fields.String(metadata=about("`error`, `warning` or `note`", example="error"))
    rule = fields.String(
        metadata=about(
            "`unknown-topic`, `unknown-partition`, `duplicate-partition`, `duplicate-replica`, `unknown-broker`, "
            "`fenced-broker`, `unavailable-leader`, `rack-rule`, `replication-factor`, `no-op`, `skew`, `avoidable-moves`",
            example="rack-rule",
        )
    )
    pointer = fields.String(metadata=about("into the body", example="/reassignment/partitions/0"))
    detail = fields.String()


class SeverityCountsSchema(Schema):
    """How many findings there are, those that are not listed included."""

    error = fields.Integer()
    warning = fields.Integer()
    note = fields.Integer()


class ReassignmentLintAnswerSchema(Schema):
    """The findings."""

    findings = fields.List(
        fields.Nested(FindingSchema), metadata=about("in the order of the reassignment; at most 100 for each rule and severity")
    )
    counts = fields.Nested(SeverityCountsSchema)


def pointer(finding: Finding) -> str:
    """Into the body."""
    row = "" if finding.row is None else f"/{finding.row}"
    return f"/reassignment/partitions{row}" + ("" if finding.replica is None else f"/replicas/{finding.replica}")


def lint_document(result: Lint) -> dict[str, Any]:
    """The answer."""
    findings = [
        {"severity": finding.severity, "rule": finding.rule, "pointer": pointer(finding), "detail": finding.detail}
        for finding in result.findings
    ]
    return {"findings": findings, "counts": result.counts}


def findings_table(result: Lint) -> pa.Table:
    """The findings as columns."""
    rows = lint_document(result)["findings"]
    return pa.table(
        {name: pa.array([row[name] for row in rows], pa.string()) for name in ("severity", "rule", "pointer", "detail")}
    )
