import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collector } from '../../../test/unit/commands/shell/terminal.ts';
import { createProgressLine } from './progress-line.ts';

function stream(properties: { isTTY?: boolean; columns?: number }) {
  const { stream: sink, text: written } = collector();
  return { sink: Object.assign(sink, properties), written };
}

test('a terminal sees one line, rewritten and cut to its width', () => {
  const { sink, written } = stream({ isTTY: true, columns: 11 });
  const line = createProgressLine(sink, () => 0);
  line.show('one');
  line.show('a text that is too long');
  line.end();
  assert.equal(written(), '\r\u001b[Kone\r\u001b[Ka text …\n');
});

test('a message on another stream does not mix with the line', () => {
  const { sink, written } = stream({ isTTY: true, columns: 11 });
  const line = createProgressLine(sink, () => 0);
  line.show('one');
  line.print('a message', sink);
  assert.equal(written(), '\r\u001b[Kone\r\u001b[Ka message\none');
});

test('a file gets one line a second, and always the last line, without escape sequences', () => {
  const { sink, written } = stream({});
  let nowMs = 0;
  const line = createProgressLine(sink, () => nowMs);
  for (const text of ['1', '2', '3']) {
    line.show(text);
    nowMs += 600;
  }
  line.show('4');
  line.end();
  assert.equal(written(), '1\n3\n4\n');
});
