"""Prints what `pip install` must be given to build without isolation: the build requirements of pyproject.toml.

`cmake` and `ninja` are added because the build back end only asks for them when the system has none.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
requirements = pyproject["build-system"]["requires"] + ["cmake>=3.21", "ninja>=1.10"]
for extra in sys.argv[1:]:
    requirements += pyproject["project"]["optional-dependencies"][extra]
print("\n".join(requirements + (pyproject["project"]["dependencies"] if sys.argv[1:] else [])))
