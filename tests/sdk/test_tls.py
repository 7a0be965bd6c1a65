"""Connections over TLS."""

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from tests.sdk.fake_brain import TOKEN, FakeBrain, serve_on_loopback
from vance_sdk.client import open_client
from vance_sdk.connection import open_connection
from vance_sdk.errors import ConnectionLost, HandshakeRefused
from vance_sdk.transport import connector
from vance_sdk.wire.messages import ClientInfo

OPENSSL = shutil.which("openssl")

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="makes its key with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    pem, key = folder / "cert.pem", folder / "key.pem"
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subprocess.run(
        [
            str(OPENSSL),
            *options.split(),
            *("-subj", "/CN=brain", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(pem)),
        ],
        check=True,
        capture_output=True,
    )
    pem.write_text(pem.read_text() + key.read_text())
    return pem


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[FakeBrain]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with serve_on_loopback(FakeBrain(), ssl_context=context) as brain:
        yield brain


@pytest.mark.requirement("003-2.1-wss")
async def test_a_trusted_brain_is_spoken_to_over_tls(
    secure: FakeBrain, certificate: Path
) -> None:
    trusting = connector(ssl.create_default_context(cafile=str(certificate)))

    async with open_connection(
        secure.url, token=TOKEN, client=ClientInfo(), connect=trusting
    ) as connection:
        await connection.disconnect()

    assert secure.url.startswith("https://")
    assert len(secure.handshakes) == 1


async def test_an_untrusted_brain_gets_no_token_and_no_second_attempt(
    secure: FakeBrain,
) -> None:
    with trio.fail_after(10):
        async with open_client(secure.url, token=TOKEN) as client:
            with pytest.raises(HandshakeRefused, match="certificate") as refused:
                await client.wait_stopped()

    assert refused.value.code == "tls"
    assert secure.handshakes == []


async def test_a_port_without_tls_is_a_lost_connection(brain: FakeBrain) -> None:
    url = brain.url.replace("http:", "https:")

    with trio.fail_after(10), pytest.raises(ConnectionLost, match="no TLS"):
        async with open_connection(url, token=TOKEN, client=ClientInfo()):
            raise NotImplementedError
