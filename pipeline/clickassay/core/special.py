"""The functions of ``scipy.special`` that are used here, without the rest of that package.

Its import prepares all of its functions for the arrays of other libraries, for which it loads most of NumPy
down to the parser of Fortran: 200 modules and a quarter of a CPU second, most of what a short command costs.
The functions themselves are compiled, in one module, which is loaded here alone.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

_PACKAGE, _COMPILED = "scipy.special", "scipy.special._ufuncs"


def _compiled() -> Any:  # noqa: ANN401 - a compiled module
    if _PACKAGE in sys.modules:
        return sys.modules[_PACKAGE]
    try:
        import scipy  # noqa: PLC0415 - needed where nobody has imported its functions

        package = ModuleType(_PACKAGE)
        package.__path__ = [f"{folder}/special" for folder in scipy.__path__]
        sys.modules[_PACKAGE] = package
        try:
            return importlib.import_module(_COMPILED)
        finally:
            del sys.modules[_PACKAGE]
    except ImportError:
        return importlib.import_module(_PACKAGE)


if TYPE_CHECKING:
    from scipy.special import chdtri, expit, log_expit, logit, ndtr, ndtri, stdtr, stdtrit  # noqa: TID251 - their types alone
else:
    _functions = _compiled()
    expit, log_expit, logit = _functions.expit, _functions.log_expit, _functions.logit
    ndtr, ndtri = _functions.ndtr, _functions.ndtri
    stdtr, stdtrit = _functions.stdtr, _functions.stdtrit
    chdtri = _functions.chdtri

__all__ = ["chdtri", "expit", "log_expit", "logit", "ndtr", "ndtri", "stdtr", "stdtrit"]
