"""Workflow files: task trees in YAML whose arguments are templates."""
