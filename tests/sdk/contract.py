"""What the contract tests need of a Brain, fake or real."""

from typing import Protocol


class BrainUnderTest(Protocol):
    """A Brain that runs beside the test.

    Attributes:
        url: Any URL of it.
        token: A credential of its owner.
        echo_workflow: Ends at once; its result is its input.
        tool_workflow: Calls the client tool ``input.tool`` with ``input.args``; its
            result is what the tool returned.
    """

    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def echo_workflow(self) -> str: ...
    @property
    def tool_workflow(self) -> str: ...

    async def drop(self) -> None:
        """Cut every connection without a goodbye."""
