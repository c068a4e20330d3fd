"""Lets schemathesis send lines: it knows no media type for them."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")
