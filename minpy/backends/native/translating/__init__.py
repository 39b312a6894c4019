"""Graphs translated to the step language.

`translator` goes through the nodes of a program; `operator_lowering` lowers each, by the `lowerings` of operators and
of NumPy's functions, or by running its definition on proxies (`traces`); what the language cannot say is called.
"""

from minpy.backends.native.translating.results import Untranslatable
from minpy.backends.native.translating.translator import Translated, Translation, translate

__all__ = ["Translated", "Translation", "Untranslatable", "translate"]
