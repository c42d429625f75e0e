import assert from 'node:assert/strict';
import { testNeighbours } from '../../support/connectors/neighbours.ts';
import { eventually } from '../../support/runner/eventually.ts';

const CHANGES = 10;
/** After each of these the neighbour is seen to have been fenced; three such within five minutes used to stop it. */
const AWAITED = 5;

const TITLE = 'an operator changes the offset of a source ten times in a row, and its neighbour goes on';

testNeighbours(TITLE, { count: 2 }, async (_t, beside) => {
  const { simulator } = beside;
  const [first = '', second = ''] = beside.names;
  const connector = await beside.start();
  await connector.event('writerOpened');
  await beside.writesOn(first);
  await beside.writesOn(second);
  assert.equal((await beside.spconnect(`stop ${first}`)).code, 0);
  const seen = connector.fieldsOf;
  const fencings = () => seen('writerLost').filter(({ err }) => err.code === 'WRITER_FENCED').length;
  for (let change = 1; change <= CHANGES; change++) {
    const before = fencings();
    const command = change === CHANGES ? `offsets reset ${first}` : `offsets set ${first} --since ${change}-0`;
    const ran = await beside.spconnect(`${command} --execute`);
    assert.equal(ran.code, 0, ran.stderr);
    if (change > AWAITED) continue;
    const fencedOrFailed = () => {
      simulator.change(1);
      return fencings() > before || seen('sourceFailed').length > 0;
    };
    await eventually('the neighbour was fenced', fencedOrFailed, Boolean);
    assert.deepEqual(seen('sourceFailed'), []);
    await beside.writesOn(second);
  }
  await beside.writesOn(second);
  assert.deepEqual(seen('sourceFailed'), []);
  assert.ok(fencings() >= AWAITED, `${fencings()}`);
  await beside.spconnect(`resume ${first}`);
  await beside.writesOn(first);
});
