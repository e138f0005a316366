"""Helper library of the book on transformers that learn bilinear teachers by gradient descent.

`Teacher` and `Student` are the two models. Each module is one idea: `teachers` builds the five teachers; `moments`,
`population`, `training` hold the exact loss, its gradient and descent; `dynamics`, `rates` the two scalars and their
laws; `verify`, `plots` the checks and figures of the chapters. The others are imported by name: `shift` (out of
distribution), `full_attention`, `scaling`, `sweeps`, `mnist`, `symbolic`. Importing the package loads NumPy alone;
SymPy, SciPy, Matplotlib and networkx load where they are used.
"""

from . import activations, dynamics, moments, plots, population, rates, teachers, training, verify
from .model import Student, Teacher, softmax

__all__ = [
    "Student",
    "Teacher",
    "activations",
    "dynamics",
    "moments",
    "plots",
    "population",
    "rates",
    "softmax",
    "teachers",
    "training",
    "verify",
]
__version__ = "0.1.0"
