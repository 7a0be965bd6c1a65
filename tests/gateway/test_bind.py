"""Where a listener can be reached: by everybody, and from its own machine."""

import pytest

from vancetope.gateway.bind import Address


@pytest.mark.parametrize(
    ("host", "url", "local_url"),
    [
        ("0.0.0.0", "http://0.0.0.0:1", "http://127.0.0.1:1"),
        ("::", "http://[::]:1", "http://[::1]:1"),
        ("127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("192.168.7.5", "http://192.168.7.5:1", "http://192.168.7.5:1"),
        ("::1", "http://[::1]:1", "http://[::1]:1"),
    ],
)
def test_a_wildcard_is_reached_by_the_loopback_of_its_family(
    host: str, url: str, local_url: str
) -> None:
    address = Address(host, 1)

    assert (address.url, address.local_url) == (url, local_url)
