"""People imported, an alert sent and its report read, by the client that openapi-python-client has generated.

usage: client.py FOLDER_OF_THE_CLIENT URL TOKEN FILE.csv; what it saw is one JSON object on its standard output.
"""

import io
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

from campanile_client import AuthenticatedClient  # noqa: E402
from campanile_client.api.alerts import get_alert_report, list_alert_deliveries, submit_alert  # noqa: E402
from campanile_client.api.groups import create_group  # noqa: E402
from campanile_client.api.recipients import get_recipient, import_recipients, put_recipients  # noqa: E402
from campanile_client.models import (  # noqa: E402
    AlertRequest,
    AlertState,
    ChannelName,
    DeviceBody,
    Group,
    Imported,
    NewGroup,
    NewRecipient,
    Problem,
    Recipient,
    Report,
    Submitted,
)
from campanile_client.types import File  # noqa: E402

DONE_WITHIN_S = 60


def main(url: str, token: str, people: str) -> dict:
    client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
    with open(people, "rb") as file:
        imported = import_recipients.sync(client=client, body=File(payload=io.BytesIO(file.read())))
    assert isinstance(imported, Imported), imported
    phone = DeviceBody(channel=ChannelName.SMS, address="+46701740690")
    more = put_recipients.sync(client=client, body=NewRecipient(id="by-hand", name="By Hand", devices=[phone]))
    assert isinstance(more, Recipient) and more.devices[0].enabled, more
    assert get_recipient.sync("by-hand", client=client) == more
    group = create_group.sync(client=client, body=NewGroup(id="hands", members=["by-hand"]))
    assert isinstance(group, Group) and group.rule is None, group
    refused = submit_alert.sync(client=client, body=AlertRequest(text="x", audience=["group:nobody"]))
    assert isinstance(refused, Problem) and refused.status == 422, refused
    wanted = AlertRequest(text="Leave the building", audience=["all"], channels=[ChannelName.SMS])
    submitted = submit_alert.sync(client=client, body=wanted, idempotency_key="from python")
    assert isinstance(submitted, Submitted), submitted
    report = wait(client, submitted.id)
    page = list_alert_deliveries.sync(submitted.id, client=client, limit=1000)
    return {
        "imported": imported.imported,
        "state": report.state.value,
        "counts": report.counts.to_dict(),
        "deliveries": len(page.items),
    }


def wait(client: AuthenticatedClient, alert) -> Report:
    until = time.monotonic() + DONE_WITHIN_S
    while time.monotonic() < until:
        report = get_alert_report.sync(alert, client=client)
        assert isinstance(report, Report), report
        if report.state is AlertState.DONE:
            return report
        time.sleep(0.1)
    raise SystemExit(f"not done within {DONE_WITHIN_S} s: {report}")


print(json.dumps(main(*sys.argv[2:5])))
