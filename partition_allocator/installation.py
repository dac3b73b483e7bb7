"""Is the package ``service`` partition-allocator's own? Many a repository has a folder of that name, and it may come first."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

OWN: Final = Path(__file__).resolve().parent.parent / "service"
"""Where partition-allocator's own package is: beside this one."""


def check() -> None:
    """Raise ImportError, in one sentence, if ``import service`` finds another package."""
    spec = find_spec("service")
    if spec is None:
        raise ImportError(f"partition-allocator is incomplete: its package 'service' is not at {OWN}. Install it again.")
    found = Path(spec.origin).resolve().parent if spec.origin else Path(next(iter(spec.submodule_search_locations or ["?"])))
    if spec.origin and Path(spec.origin).name != "__init__.py":
        found = Path(spec.origin)
    if found != OWN:
        raise ImportError(
            f"Another package called 'service' ({found}) hides partition-allocator's own: remove its folder from PYTHONPATH, "
            "or start partition-allocator in another folder."
        )
    if not (OWN / "cli" / "__init__.py").is_file() or "partition-allocator" not in (OWN / "__init__.py").read_text():
        raise ImportError(
            f"Another distribution has overwritten partition-allocator's package 'service' in {OWN.parent}: install "
            "partition-allocator into an environment of its own."
        )
