"""Hooks of schemathesis: requests name what the server has, and not only ids that nobody gave.

CAMPANILE_SEEDS is a file of JSON: for "METHOD PATH" of the description, or its PATH, a list of seeds, taken one after
the other. A seed may have path, query, headers (they replace those of the request) and body. Every fourth request
keeps its own, unless it would remove something: it might name the token of the tester.
"""

import itertools
import json
import os

import schemathesis

with open(os.environ["CAMPANILE_SEEDS"], encoding="utf-8") as file:
    SEEDS = json.load(file)
KEPT_OF = 4
COUNTS: dict[str, itertools.count] = {}


def calls_nobody(body):
    """A server calls back where a request says; a test calls nobody out there."""
    for told in (body, body.get("callback")):
        if isinstance(told, dict) and isinstance(told.get("url"), str) and told["url"].lower().startswith("http"):
            told["url"] = "https://nobody.example/"


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict):
        calls_nobody(case.body)
    path, method = case.operation.path, case.operation.method.upper()
    seeds = SEEDS.get(f"{method} {path}", SEEDS.get(path))
    if not seeds:
        return
    count = next(COUNTS.setdefault(f"{case.method} {path}", itertools.count()))
    if case.method.upper() != "DELETE" and count % KEPT_OF == KEPT_OF - 1:
        return
    seed = seeds[count % len(seeds)]
    if "path" in seed:
        case.path_parameters = dict(seed["path"])
    if case.meta is not None and case.meta.generation.mode.is_negative:
        # What is wrong with it on purpose stays so.
        return
    if "query" in seed:
        case.query = dict(seed["query"])
    for name, value in seed.get("headers", {}).items():
        case.headers[name] = value
    if "body" in seed and case.method.upper() == method:
        if isinstance(seed["body"], str):
            # Octets, which no schema of JSON describes.
            kwargs["data"] = seed["body"].encode()
        else:
            case.body = seed["body"]
    # A body that names its own id names that of its path.
    if method == "PUT" and isinstance(case.body, dict) and isinstance(case.body.get("id"), str):
        case.body["id"] = case.path_parameters["id"]
