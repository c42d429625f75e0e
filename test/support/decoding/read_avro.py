"""Reads values in Confluent's wire format with fastavro, which shares no code with this project.

usage: read_avro.py SCHEMA.avsc < base64-lines > json-lines

Prints one JSON object for each value: decimals and longs as exact text, dates as YYYY-MM-DD, local date-times as
YYYY-MM-DD HH:MM:SS, instants as ISO 8601 in UTC. Ends with an error for a value that is not whole, or has bytes behind the record.
"""

import base64
import datetime
import decimal
import io
import json
import sys

import fastavro


def readable(value):
    if isinstance(value, dict):
        return {name: readable(field) for name, field in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return decimal_text(value)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        text = value.astimezone(datetime.timezone.utc).isoformat().removesuffix("+00:00")
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def decimal_text(value):
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def main():
    # The default context rounds to 28 digits; a decimal(38,18) has up to 38.
    decimal.getcontext().prec = 100
    schema = fastavro.schema.load_schema(sys.argv[1])
    for number, line in enumerate(sys.stdin, 1):
        value = base64.b64decode(line, validate=False)
        if len(value) < 5 or value[0] != 0:
            sys.exit(f"value {number} does not begin with the wire format's header")
        body = io.BytesIO(value[5:])
        record = fastavro.schemaless_reader(body, schema, None)
        if body.read(1):
            sys.exit(f"value {number} has bytes behind its record")
        print(json.dumps(readable(record), ensure_ascii=False))


main()
