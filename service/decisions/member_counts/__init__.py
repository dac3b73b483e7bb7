"""A group → how many members it needs."""
