"""Documents: their text translated, everything else left as it is.

What comes in is hostile until shown otherwise, so that parsing and rebuilding happen in a child process with limits;
only texts and the places of their marks travel between.
"""

from yiwen.documents.document import formats, translate_document, translate_markup
from yiwen.documents.sandbox import Limits

__all__ = ["Limits", "formats", "translate_document", "translate_markup"]
