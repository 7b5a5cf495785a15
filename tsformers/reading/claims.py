"""Claims: the grammar of what a page states in inline code, and the comparison with what was recorded.

The public face of the modules that do the work: ``literals``, ``layout``, ``form``, ``value_form``,
``shape_form`` and ``grammar`` read a claim, ``arithmetic`` computes formulas, ``values``, ``compare`` and ``relations``
compare, ``proof`` proves axis names, ``rewrite`` corrects.
"""

from __future__ import annotations

from tsformers.reading.arithmetic import FormulaError, evaluate, evaluate_axis
from tsformers.reading.compare import Mismatch, Wrong, first_wrong, judge
from tsformers.reading.form import Claim, Expression, Slot
from tsformers.reading.grammar import parse
from tsformers.reading.layout import Operator
from tsformers.reading.literals import ClaimError
from tsformers.reading.proof import AxisCase, judge_axes
from tsformers.reading.rewrite import as_written
from tsformers.reading.values import describe

__all__ = [
    "AxisCase",
    "Claim",
    "ClaimError",
    "Expression",
    "FormulaError",
    "Mismatch",
    "Operator",
    "Slot",
    "Wrong",
    "as_written",
    "describe",
    "evaluate",
    "evaluate_axis",
    "first_wrong",
    "judge",
    "judge_axes",
    "parse",
]
