"""The inputs a process starts with."""

import copy

from vancetope.config.fields import suggestion
from vancetope.errors import BadMessage
from vancetope.model.json import JsonObject
from vancetope.processes.workflows.definition import Workflow


def resolve_inputs(workflow: Workflow, given: JsonObject) -> JsonObject:
    """Every declared input with the value given for it, or its default.

    Raises:
        BadMessage: one is given that the workflow does not declare, or a required
            one is not given.
    """
    for name in given:
        if name not in workflow.inputs:
            hint = suggestion(name, workflow.inputs)
            message = f"workflow {workflow.id} has no input {name!r:.80}. {hint}"
            raise BadMessage(message)
    missing = [
        name
        for name, spec in workflow.inputs.items()
        if spec.required and name not in given
    ]
    if missing:
        message = (
            f"workflow {workflow.id} needs the input {', '.join(missing)}. "
            f"Give it, for example --input {missing[0]}=VALUE."
        )
        raise BadMessage(message)
    return {
        name: given[name] if name in given else copy.deepcopy(spec.default)
        for name, spec in workflow.inputs.items()
    }
