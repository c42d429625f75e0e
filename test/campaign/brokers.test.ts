import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acknowledgedOffsets } from './acknowledged-offsets.ts';
import { countSkipped } from './skipped-markers.ts';

test('skipped markers are counted in the log of a broker', () => {
  const skipped =
    "12:00 [TxnMarkerSenderThread-1] INFO x - [Manager 1]: Couldn't find leader endpoint for partitions Set(t-1) while trying";
  assert.equal(countSkipped(`${skipped}\n12:01 else\n${skipped}\n`), 2);
  assert.equal(countSkipped('12:01 else\n'), 0);
});

test('a commit is forgotten when a source begins before what was acknowledged', () => {
  const offsets = acknowledgedOffsets();
  const reports = [
    ['sourceStarted', null, 0],
    ['streamCommitted', '9-0', 0],
    ['pageCommitted', null, 0],
    ['streamCommitted', '10-1', 0],
    ['sourceStarted', '10-1', 0],
    ['sourceStarted', '10-0', 1],
    ['sourceStarted', '10-0', 1],
    ['streamCommitted', '10-2', 1],
    ['sourceStarted', '11-0', 1],
    ['streamCommitted', '10-9', 1],
    ['sourceStarted', '9-9', 2],
  ] as const;
  for (const [event, since, forgotten] of reports) {
    offsets.report(event, since);
    assert.equal(offsets.forgotten(), forgotten, `${event} ${since}`);
  }
});
