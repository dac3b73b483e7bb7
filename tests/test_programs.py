"""A run without some programs ends with the commands that install them."""

from tests.support.programs import commands


def test_each_missing_program_is_named_in_one_command():
    reasons = [f"Skipped: {name} is not installed" for name in ("runc", "helm", "chromium", "etcd", "runc")]
    assert commands([*reasons, "Skipped: keys are not hashed"]) == [
        "apt-get install -y chromium-headless-shell libatomic1 runc",
        "make chart-tools",
    ]
    assert commands(["Skipped: keys are not hashed"]) == []
