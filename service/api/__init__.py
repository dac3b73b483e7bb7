"""HTTP: a folder for each question, with ``views.py``, ``request.py`` and ``response.py``."""
