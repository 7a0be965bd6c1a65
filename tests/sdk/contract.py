"""What the contract tests need of a Brain, fake or real."""

from typing import Protocol


class BrainUnderTest(Protocol):
    """A Brain that runs beside the test.

    Attributes:
        url: Any URL of it.
        token: A credential of its owner.
        echo_workflow: Has the input ``n`` and ends at once with ``{"n": n}``.
    """

    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def echo_workflow(self) -> str: ...

    def calls(self, tool: str) -> str:
        """Return the workflow that calls a client tool; its result is the tool's.

        The tools are ``greet`` with ``name`` from the workflow's own input, and
        ``fail``, ``late`` and ``slow`` without arguments. ``slow`` is idempotent.
        """

    async def drop(self) -> None:
        """Cut every connection without a goodbye."""
