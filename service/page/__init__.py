"""The planner page: workbenches at ``/`` that ask ``/v1`` from the browser."""
