"""The C++ sources of glint lie in this folder; the Python package is in python/glint.

Python finds this folder when it is started in the root of the repository. The package that is installed is
taken then, as everywhere else; without one the import says what to do.
"""

import importlib.machinery as _machinery
import os as _os
import sys as _sys


def _installed():
    here = _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))
    path = [p for p in _sys.path if _os.path.abspath(p or ".") != here]
    return _machinery.PathFinder.find_spec("glint", path)


_spec = _installed()
if _spec is None or _spec.loader is None:
    raise ImportError(
        "this is the folder of glint's C++ sources, and the Python package is not installed: "
        "run `pip install .` or `make python` here, or start Python in another folder"
    )
# Becomes the installed package: the same module object, with its paths and contents.
__spec__ = _spec
__file__ = _spec.origin
__path__ = list(_spec.submodule_search_locations)
__loader__ = _spec.loader
_spec.loader.exec_module(_sys.modules[__name__])
