"""The colours of reports and pictures, on light and on dark paper; the planner page has the same."""

from typing import Final

LIGHT: Final = {
    "ink": "#1b1f24", "soft": "#57606a", "grid": "#d5dae0", "page": "#f6f7f9", "card": "#ffffff",
    "accent": "#0b62c4", "good": "#1a7f4b", "bad": "#c02b30",
    "c0": "#0b62c4", "c1": "#d9730d", "c2": "#178a6b", "c3": "#a6408f", "c4": "#8a6d00", "c5": "#3e9bd6", "c6": "#c02b30",
    "c7": "#6b7280",
}  # fmt: skip
"""Text, secondary text, lines, the page and what lies on it; what matters, good and bad; one for each series."""

DARK: Final = {
    "ink": "#e6e9ee", "soft": "#9aa5b1", "grid": "#363d47", "page": "#101418", "card": "#181d23",
    "accent": "#6db0ff", "good": "#56c991", "bad": "#ff7b7b",
    "c0": "#6db0ff", "c1": "#f5a453", "c2": "#52c9a5", "c3": "#df8fd0", "c4": "#d8bd4a", "c5": "#9bd2f5", "c6": "#ff7b7b",
    "c7": "#9aa5b1",
}  # fmt: skip

ON_ANY: Final = "#3b82c4"
"""Instead of the accent where a picture cannot tell what it is on, as in a notebook: readable on light and on dark pages."""


def variables(selector: str, names: tuple[str, ...] = tuple(LIGHT)) -> str:
    """CSS that gives the elements a custom property for each of these colours, by the colour scheme of the reader."""
    light, dark = ("".join(f"--{name}:{colors[name]};" for name in names) for colors in (LIGHT, DARK))
    return f"{selector}{{{light}}}\n@media (prefers-color-scheme: dark){{{selector}{{{dark}}}}}"
