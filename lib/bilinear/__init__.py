"""Helper library of the book on transformers that learn bilinear teachers by gradient descent.

`Teacher` and `Student` are the two models. Each module is one idea: `teachers`, `moments`, `population`, `training`,
`dynamics`, `rates`, `verify`, `plots`. Importing the package loads NumPy alone; SymPy, SciPy, Matplotlib and networkx
load where they are used.
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
