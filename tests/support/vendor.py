"""Copy the planner page's libraries from ``node_modules``: ``make vendor`` (``npm ci`` has brought what package-lock.json pins).

Each library is copied as its package has it, but for the names of packages in its imports, which become paths: without an inline
import map, which the page's policy forbids, a browser cannot look names up. ``vendor.json`` has the hash of each file.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Final

from tests.support.golden import PROJECT

VENDOR: Final = PROJECT / "service" / "page" / "static" / "vendor"
PACKAGES: Final = PROJECT / "node_modules"
RECORD: Final = VENDOR / "vendor.json"
NOTICES: Final = VENDOR / "NOTICES.txt"

SINGLE: Final = {
    "preact.js": ("preact", "dist/preact.mjs"),
    "hooks.js": ("preact", "hooks/dist/hooks.mjs"),
    "htm.js": ("htm", "dist/htm.mjs"),
    "d3-array.js": ("d3-array", "dist/d3-array.mjs"),
    "internmap.js": ("internmap", "src/index.js"),
    "flechette.js": ("@uwdata/flechette", "dist/flechette.mjs"),
    "fzstd.js": ("fzstd", "esm/index.mjs"),
    "hyparquet-compressors/gzip.js": ("hyparquet-compressors", "src/gzip.js"),
    "hyparquet-compressors/gzip.huffman.js": ("hyparquet-compressors", "src/gzip.huffman.js"),
    "hyparquet-compressors/lz4.js": ("hyparquet-compressors", "src/lz4.js"),
}
"""Single files: the path here → the package and the path there."""

FOLDERS: Final = {"hyparquet": ("hyparquet", "src")}
"""Libraries of several files, without those for Node."""

PATHS: Final = {"preact": "./preact.js", "internmap": "./internmap.js"}
"""What the libraries import by name."""


def sources() -> dict[str, tuple[str, str]]:
    """Each file's path here → its package and its path there."""
    found = dict(SINGLE)
    for folder, (package, path) in FOLDERS.items():
        for file in sorted((PACKAGES / package / path).glob("*.js")):
            if file.name != "node.js":
                found[f"{folder}/{file.name}"] = (package, f"{path}/{file.name}")
    return found


def copied(package: str, path: str) -> bytes:
    """A file of a package, as it is served."""
    text = (PACKAGES / package / path).read_text()
    text = re.sub(r"\n?//# sourceMappingURL=\S+\s*$", "\n", text)
    return re.sub(r'(from ?)"([a-z-]+)"', lambda found: f'{found[1]}"{PATHS[found[2]]}"', text).encode()


def version(package: str) -> str:
    """The version of an installed package."""
    return str(json.loads((PACKAGES / package / "package.json").read_text())["version"])


def record() -> dict[str, dict[str, str]]:
    """What the files are and where they come from."""
    return {
        name: {
            "package": package,
            "version": version(package),
            "path": path,
            "sha256": sha256(copied(package, path)).hexdigest(),
        }
        for name, (package, path) in sources().items()
    }


def notices() -> str:
    """The licenses of all libraries, which a page that serves them must have."""
    packages = sorted({package for package, _ in sources().values()})
    texts = [f"{package} {version(package)}\n\n{_license(package)}\n" for package in packages]
    head = "The planner page contains these libraries.\n"
    return f"\n{'-' * 80}\n\n".join([head, *texts])


def _license(package: str) -> str:
    return next((PACKAGES / package).glob("LICENSE*")).read_text().strip()


def main() -> None:
    """Write all files anew."""
    for old in [path for path in VENDOR.rglob("*") if path.is_file() and not path.name.endswith(".d.ts")]:
        old.unlink()
    for name, (package, path) in sources().items():
        target = VENDOR / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(copied(package, path))
    RECORD.write_text(json.dumps(record(), indent=2) + "\n")
    NOTICES.write_text(notices())


if __name__ == "__main__":
    main()
