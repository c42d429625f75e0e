import assert from 'node:assert/strict';
import { compareStreamOffsets } from '../../../src/sources/stream/stream-response.ts';
import { readInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { seededRandom } from '../../simulation/random.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { keepChanging } from '../../support/ledgers/changes.ts';
import { universeViolations } from '../../support/ledgers/universe-log.ts';
import { offsetsOn, tombstoneIds, universeOnTopics } from '../../support/ledgers/universe-on-topics.ts';
import { ledgerUniverse } from '../../support/ledgers/universe-reading.ts';

const KILLS = Number(process.env.KILLS ?? 15);
const SEED = Number(process.env.KILL_SEED ?? 1);
const INSTRUMENTS = 2_000;
/** The lowest ids, which leave last. */
const LAST_TO_LEAVE = 20;
const LIST_LAG_MS = 3_000;
const SETTLING_MS = 400_000;

const SCENE = {
  simulator: { instruments: INSTRUMENTS, seed: SEED, listLagMs: LIST_LAG_MS, listLagVaries: true },
  source: {
    limit: 200,
    maxEvents: 300,
    handoffMargin: '3500ms',
    pollInterval: '500ms',
    walkInterval: '10s',
    // Far more vanishes here than the shrink stop would let pass.
    maxShrink: 1,
  },
};

testInstallation(
  `after ${KILLS} kills in a moving universe, the topics hold exactly what the provider did`,
  SCENE,
  async (t, at) => {
    const { simulator, kafka, prefix } = at;
    const first = await ledgerUniverse(simulator);
    const random = seededRandom(SEED);
    const stopMoving = keepChanging(simulator, { perSecond: 150, quietShare: 0.6 }, random);
    t.after(stopMoving);

    for (let kill = 0; kill < KILLS; kill++) {
      const connector = at.startKillable('stay');
      await connector.line('writer opened');
      // Some die at once, some in the hand-off, some in the walk, some in the stream.
      await new Promise((resolve) => setTimeout(resolve, random() ** 2 * 6_000));
      connector.child.kill('SIGKILL');
      assert.equal((await connector.ended).signal, 'SIGKILL', connector.lines.slice(-5).join('\n'));
    }
    stopMoving();
    const last = at.startKillable('stay');
    await settled(last, 2);
    // All that the provider has is on the topic now, so these are deleted there.
    for (const id of first.keys().toArray().slice(0, LAST_TO_LEAVE)) simulator.publish({ kind: 'vanish', id });
    await settled(last, 4);
    last.child.kill('SIGTERM');
    assert.equal((await last.ended).code, 0, last.lines.slice(-5).join('\n'));

    await fenceSource(kafka, prefix);
    // What happened before the source began is in the list, and no event of it is expected.
    const [begun = assert.fail('no offset')] = await offsetsOn(kafka, prefix);
    const { since } = readInstrumentsOffset(begun.offset, 'instruments', 'scope=all');
    const isDue = ({ offset }: { readonly offset: string }) => (compareStreamOffsets(offset, since) ?? 0) > 0;
    const log = await universeOnTopics({ kafka, prefix, simulator, first, isDue });
    assert.deepEqual(universeViolations(log).slice(0, 20), []);
    const gone = tombstoneIds(log).length;
    assert.ok(log.events.length > 1_000 && gone >= LAST_TO_LEAVE, `${log.events.length} events, ${gone} gone`);
    t.diagnostic(
      `${KILLS} kills, ${log.events.length} events, ${log.instruments.length} records, ${gone} tombstones, ` +
        `${log.universe.size} instruments at the end: 0 lost, 0 twice, 0 out of order, 0 steps back, 0 ghosts (seed ${SEED})`,
    );
  },
);

/** So many walks that were not resumed: of two, the second began after the provider had come to rest, and the list too. */
async function settled(connector: ConnectorProcess, walks: number) {
  const deadline = Date.now() + SETTLING_MS;
  const isWhole = (line: string) => line.includes('"walk completed"') && line.includes('"resumed":false');
  while (connector.lines.filter(isWhole).length < walks) {
    assert.ok(Date.now() < deadline, `it did not settle:\n${connector.lines.slice(-20).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
