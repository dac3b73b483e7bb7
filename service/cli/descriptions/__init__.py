"""Descriptions of clusters → request bodies and tables, and the commands ``body`` and ``upgrade`` about them."""
