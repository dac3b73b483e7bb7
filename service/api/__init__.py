"""The JSON form of each family, a module each: the schemas, ``document``, ``FORM``; their operations are in ``views.py``."""
