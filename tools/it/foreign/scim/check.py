"""Runs scim2-tester over a server: check.py URL TOKEN. Prints an object a line for each check."""

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server


def main() -> None:
    url, token = sys.argv[1:3]
    http = Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60.0)
    client = SyncSCIMClient(http)
    client.discover()
    for result in check_server(client):
        shown = {"status": result.status.name, "title": result.title, "reason": str(result.reason or "")}
        print(json.dumps(shown), flush=True)


main()
