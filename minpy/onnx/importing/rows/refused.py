"""Why operators are not imported."""

from __future__ import annotations

from minpy.onnx.importing.calls import refuse

refuse(
    "how long its output is hangs on values, and graphs have shapes that do not. Run this part outside of the model",
    "NonZero", "Unique", "NonMaxSuppression",
)  # fmt: skip
refuse(
    "it works on sequences, or optional values, and symbols are arrays. Export the model without them",
    "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement",
)  # fmt: skip
refuse(
    "it works on text, of which there are no arrays. Do this before the model",
    "StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer",
)  # fmt: skip
refuse(
    "it draws random numbers, which cannot be compared. Give them to the model as inputs",
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
)  # fmt: skip
refuse("it reads a picture file. Use mx.image.imdecode before the model", "ImageDecoder")
