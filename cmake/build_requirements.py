"""Prints what `pip install` must be given: build requirements, and those of the extras named as arguments.

Without isolation the build needs its own requirements installed; `cmake` and `ninja` are added because the build back
end only asks for them when the system has none. `--no-build` leaves all of these out.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
extras = sys.argv[1:]
if "--no-build" in extras:
    extras.remove("--no-build")
    requirements = []
else:
    requirements = [*pyproject["build-system"]["requires"], "cmake>=3.21", "ninja>=1.10"]
for extra in extras:
    requirements += pyproject["project"]["optional-dependencies"][extra]
print("\n".join(requirements + (pyproject["project"]["dependencies"] if extras else [])))
