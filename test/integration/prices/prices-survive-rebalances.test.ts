import assert from 'node:assert/strict';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, onceRight, pricesOnTopics, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';
import { unservedPrice } from '../../support/network/served-prices.ts';

const INSTRUMENTS = 400;
const CHANGES_PER_SECOND = 25;
const BETWEEN_MS = 2_000;

/** What happens to the members of the group, one after the other; the sleeper is woken when its partitions are long gone. */
const TROUBLE = ['kill', 'leave', 'sleep', 'kill', 'join', 'kill', 'wake', 'leave', 'kill'] as const;

const SCENE = {
  simulator: { instruments: INSTRUMENTS, keptPrices: 200 },
  prices: '{ linger: 50ms, kinds: { overview: { refreshInterval: 4s } } }',
};

testInstallation(
  'processors that are killed, stalled, stopped and joined answer every record exactly once',
  SCENE,
  async (t, at) => {
    const { prefix, simulator, kafka } = at;
    const sources = await at.start({ roles: 'sources' });
    await sources.event('walkCompleted');
    const started: ConnectorProcess[] = [];
    const start = () => {
      const processor = at.startKillable('stay', { ROLES: 'processor' });
      started.push(processor);
      return processor;
    };
    let members = [start(), start()];
    let asleep: ConnectorProcess | null = null;
    await Promise.all(members.map((member) => member.line('partition assigned')));
    simulator.setChangeRate(CHANGES_PER_SECOND);

    for (const trouble of TROUBLE) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      const [oldest, ...others] = members;
      if (oldest === undefined) throw new Error('No member is left.');
      if (trouble === 'kill' || trouble === 'leave') {
        oldest.child.kill(trouble === 'kill' ? 'SIGKILL' : 'SIGTERM');
        members = [...others, start()];
      } else if (trouble === 'sleep') {
        oldest.child.kill('SIGSTOP');
        asleep = oldest;
        members = [...others, start()];
      } else if (trouble === 'wake' && asleep) {
        asleep.child.kill('SIGCONT');
        members = [...members, asleep];
      } else members = [...members, start()];
    }
    simulator.setChangeRate(0);

    await onceRight(async () => {
      const { waiting, all } = await unansweredInputs(kafka, prefix);
      return waiting > 0 ? `${waiting} of ${all} records wait` : null;
    });
    await sources.stop();
    for (const { child } of members) child.kill('SIGTERM');
    // All have been asked to end by now, or killed.
    await Promise.all(started.map(({ ended }) => ended));
    await fencePrices(kafka, prefix);
    const log = await pricesOnTopics(kafka, prefix);

    assert.deepEqual(priceViolations(log), []);
    for (const { price } of log.prices) assert.equal(unservedPrice(simulator, price), null);
    const answered = log.results.filter(({ answers }) => answers !== null).length;
    assert.ok(log.inputs.length > INSTRUMENTS + CHANGES_PER_SECOND, 'instruments changed meanwhile');
    const kills = TROUBLE.filter((trouble) => trouble === 'kill').length;
    const text = `${log.inputs.length} records, ${answered} results for them, ${log.prices.length} prices in all`;
    t.diagnostic(`${kills} kills of ${TROUBLE.length} troubles, ${started.length} processes: ${text}: 0 lost, 0 twice`);
    const fencings = started.flatMap(({ lines }) =>
      lines.filter((line) => line.includes('writer of a partition lost')),
    );
    t.diagnostic(`${fencings.length} writers were lost`);
  },
);
