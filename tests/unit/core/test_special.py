"""Functions of SciPy that are loaded without the import of their package."""

import scipy.special

from clickassay.core import special


def test_they_are_the_functions_of_scipy_and_its_package_is_whole_after_them():
    assert all(getattr(special, name) is getattr(scipy.special, name) for name in special.__all__)
    assert scipy.special.__file__.endswith("__init__.py")
    assert scipy.special.softmax([0.0, 0.0]).tolist() == [0.5, 0.5]  # from a module that was not loaded
