"""The JSON form of each family, a folder each: ``schema.py``, ``document.py``, and the operations, ``views.py``."""
