import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import type { UnitTopics } from '../../../src/worker/run-states.ts';
import { operator } from '../../support/connectors/operator.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { broker, counted, countingSource, run, written } from './counting-sources.ts';

/** The topics of `bad` are refused with this until it is taken away. */
function refusing(error: ConnectorError) {
  const is = { refused: true, asked: 0 };
  const topics: UnitTopics<{ readonly name: string }> = {
    areVerified: ({ name }) => name !== 'bad' || !is.refused,
    async verify() {
      is.asked += 1;
      if (is.refused) throw error;
    },
    doubt: () => assert.fail('no topic is replaced'),
  };
  return { is, topics };
}

test('an operator who has mended the topic lets the source start again, and it is verified first', async (t) => {
  const memory = broker();
  const { is, topics } = refusing(new ConnectorError('TOPIC_MISSING', 'it is not there'));
  const asking = operator(['bad']);
  const { count, stop } = run(memory, [countingSource('bad')], { asking, topics });
  t.after(() => stop.abort(new Error('the test has ended')));
  const failures = () => count('sourceFailed');
  await eventually('it has failed', failures, (times) => times === 1);
  asking.restarts('bad');
  await eventually('it has failed again, as nothing was mended', failures, (times) => times === 2);
  assert.deepEqual(written(memory, 'bad'), []);
  is.refused = false;
  asking.restarts('bad');
  await eventually(
    'it writes',
    () => written(memory, 'bad').length,
    (rows) => rows === counted.length,
  );
});

test('a source whose topics cannot be looked at is tried again, apart from the others', async () => {
  const memory = broker();
  const { is, topics } = refusing(new ConnectorError('KAFKA_UNREACHABLE', 'no leader'));
  const { ended, failures } = run(memory, [countingSource('bad'), countingSource('good')], {
    topics: {
      ...topics,
      async verify(source, signal) {
        if (written(memory, 'good').length === counted.length && is.asked > 3) is.refused = false;
        await topics.verify(source, signal);
      },
    },
  });
  assert.deepEqual(await ended, ['bad', 'good']);
  assert.deepEqual([written(memory, 'bad'), written(memory, 'good')], [counted, counted]);
  assert.deepEqual(
    failures().map(([, { code }]) => code),
    ['WALK_CURSOR_REPEATED', 'WALK_CURSOR_REPEATED'],
  );
});

test('a topic that is replaced ends the session: its sources verify it, and begin again with the new id', async (t) => {
  const memory = broker();
  const ids = { now: 'first' };
  const given: unknown[] = [];
  const counting = countingSource('good');
  const source = {
    ...counting,
    startTask(...[offset, topicIds]: Parameters<typeof counting.startTask>) {
      given.push(topicIds.get('p.rows'));
      const task = counting.startTask(offset, topicIds);
      const isIdle = () => written(memory, 'good').length > 3;
      return {
        poll: (signal: AbortSignal) =>
          isIdle() ? untilAborted(new Promise<never>(() => {}), signal) : task.poll(signal),
      };
    },
  };
  const doubted: string[][] = [];
  const { failures, stop } = run(memory, [source], {
    asking: operator(['good']),
    kafka: { topicIds: async () => new Map([['p.rows', ids.now]]) },
    topics: { areVerified: () => true, verify: async () => {}, doubt: (names) => doubted.push([...names]) },
  });
  t.after(() => stop.abort(new Error('the test has ended')));
  await eventually(
    'it writes',
    () => written(memory, 'good').length,
    (rows) => rows > 3,
  );
  ids.now = 'second';
  await eventually(
    'it begins again',
    () => given.length,
    (starts) => starts > 1,
  );
  assert.deepEqual([given, doubted], [['first', 'second'], [['p.rows']]]);
  assert.deepEqual(failures(), []);
});
