"""Compares records with what the provider sent, in another language than the connector's.

usage: compare_ledger.py SCHEMA.avsc < json-lines

Each line is {"value": base64 of a value in Confluent's wire format, "sent": the JSON text of the instrument as served}.
Every field that was sent must be in the record with the same value, numbers compared as exact decimals; nothing else may
be in it, but the convenience isin and, under extras, what the schema cannot hold. Prints one JSON object:
{"records": …, "fields": …, "decimals": …, "extras": …, "differences": [the first ones]}.
"""

import base64
import datetime
import decimal
import io
import json
import sys

import fastavro

SCALE = decimal.Decimal(1).scaleb(-18)
MOST_DIFFERENCES = 20


class Comparison:
    def __init__(self):
        self.records = self.fields = self.decimals = self.extras = 0
        self.differences = []

    def differ(self, pointer, what):
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(f"{self.records} {pointer}: {what}")

    def record(self, record, sent):
        self.records += 1
        extras = dict(record.pop("extras") or {})
        self.extras += len(extras)
        isins = [entry["value"] for entry in sent.get("identifiers") or [] if entry["type"] == "isin"]
        if record.pop("isin") != (isins[0] if isins else None):
            self.differ("/isin", "is not the first identifier of type isin")
        self.value("", record, sent, extras)
        if extras:
            self.differ("/extras", f"holds more than was due: {sorted(extras)}")

    def value(self, pointer, found, sent, extras):
        if isinstance(sent, dict):
            if not isinstance(found, dict):
                return self.differ(pointer, "is missing")
            for name in {**found, **sent}:
                self.value(f"{pointer}/{name}", found.get(name), sent.get(name), extras)
        elif isinstance(sent, list):
            if found is None or len(found) != len(sent):
                return self.differ(pointer, "has another length")
            for index, item in enumerate(sent):
                self.value(f"{pointer}/{index}", found[index], item, extras)
        else:
            self.fields += 1
            self.leaf(pointer, found, sent, extras)

    def leaf(self, pointer, found, sent, extras):
        if isinstance(sent, Number) and isinstance(found, decimal.Decimal):
            self.decimals += 1
            exact = decimal.Decimal(sent.text)
            rounded = exact.quantize(SCALE, rounding=decimal.ROUND_HALF_EVEN)
            if found != rounded:
                self.differ(pointer, f"{found} where {sent.text} was sent")
            if rounded != exact and extras.pop(pointer, None) != sent.text:
                self.differ(pointer, "was rounded and is not verbatim in extras")
        elif isinstance(sent, Number):
            if type(found) is not int or found != int(sent.text):
                self.differ(pointer, f"{found!r} where {sent.text} was sent")
        elif isinstance(found, datetime.datetime):
            if found.isoformat(sep=" ") != sent:
                self.differ(pointer, f"{found} where {sent} was sent")
        elif isinstance(found, datetime.date):
            if found.isoformat() != sent:
                self.differ(pointer, f"{found} where {sent} was sent")
        elif type(found) is not type(sent) or found != sent:
            self.differ(pointer, f"{found!r} where {sent!r} was sent")


class Number:
    """A JSON number as its text, so that no float ever stands between."""

    def __init__(self, text):
        self.text = text


def main():
    # The default context rounds to 28 digits; a decimal(38,18) has up to 38.
    decimal.getcontext().prec = 200
    schema = fastavro.schema.load_schema(sys.argv[1])
    comparison = Comparison()
    for line in sys.stdin:
        pair = json.loads(line)
        sent = json.loads(pair["sent"], parse_float=Number, parse_int=Number)
        body = io.BytesIO(base64.b64decode(pair["value"])[5:])
        record = fastavro.schemaless_reader(body, schema, None)
        if body.read(1):
            comparison.differ("", "has bytes behind its record")
        comparison.record(record, sent)
    print(json.dumps(vars(comparison)))


main()
