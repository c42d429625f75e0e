import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createLiveBlock } from '../../../src/demo/live-block.ts';

function stream(properties: { isTTY?: boolean; columns?: number }) {
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { sink: Object.assign(sink, properties), written: () => text };
}

test('a terminal sees the block rewritten in place, cut to its width, and other lines above it', () => {
  const { sink, written } = stream({ isTTY: true, columns: 6 });
  const block = createLiveBlock(sink);
  assert.equal(block.isShown(), false);
  block.show(['1', 'too long']);
  assert.equal(block.isShown(), true);
  block.print('event');
  block.show(['2']);
  assert.equal(written(), '1\ntoo l\n\u001b[2A\u001b[Jevent\n1\ntoo l\n\u001b[2A\u001b[J2\n');
});

test('a file sees line after line, without escapes', () => {
  const { sink, written } = stream({});
  const block = createLiveBlock(sink);
  block.show(['a long first line']);
  block.print('event');
  block.show(['2']);
  assert.equal(written(), 'a long first line\nevent\n2\n');
});
