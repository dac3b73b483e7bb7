"""Pretend distributions: a module and the two files that make it an installed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def install(folder: Path, distribution: str, group: str, entry_points: dict[str, str], **modules: str) -> None:
    """Write a distribution into ``folder``, which is or will be on the path.

    group : without its beginning, ``partition_allocator.``
    entry_points : name → ``module:attribute``
    modules : name → source
    """
    info = folder / f"{distribution}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[partition_allocator.{group}]\n{lines}")
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
