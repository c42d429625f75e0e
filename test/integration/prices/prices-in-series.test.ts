import assert from 'node:assert/strict';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { WIRE_HEADER_BYTES } from '../../../src/records/avro/wire-format.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { fencePrices, onceRight } from '../../support/ledgers/prices-on-topics.ts';

const INSTRUMENTS = 30;
const PATIENCE_MS = 300_000;
const PARTITIONS = 6;
/** The two moments of the connector at the end of each value: a branch and six bytes each. */
const MOMENTS_BYTES = 14;

const SERIES = ['daily-prices', 'intraday-prices'];
const FOREIGN = 'foreign';
const SERIES_OF: Readonly<Record<string, readonly string[]>> = {
  'daily-prices': ['LastBidAsk', 'OHLC'],
  'intraday-prices': ['Hour_1/BidAsk', 'Hour_1/Close', 'Minute_5/BidAsk', 'Minute_5/Close'],
};
const KINDS = [
  ...(SERIES_OF['daily-prices'] ?? []).map((series) => `daily/${series}`),
  ...(SERIES_OF['intraday-prices'] ?? []).map((series) => `intraday/${series}`),
];

/** As another program would, that takes our topics for its own. */
async function writeForeignBytes(kafka: KafkaCluster, prefix: string): Promise<void> {
  const writer = kafka.transactionalWriter(`${prefix}-foreign`);
  await writer.open(async () => {}, AbortSignal.timeout(PATIENCE_MS));
  const value = Buffer.from('{"price":12}');
  await writer.commit({
    records: SERIES.map((topic) =>
      keyedRecord({ name: `${prefix}.${topic}`, partitions: PARTITIONS }, FOREIGN, value, {}),
    ),
  });
  await writer.close();
}

function answersOf(connector: RunningConnector, kind: string): number {
  const batches = connector.fieldsOf('batchPriced').filter((batch) => batch.kind === kind);
  return batches.reduce((sum, { priced }) => sum + priced, 0);
}

const SCENE = {
  simulator: { instruments: INSTRUMENTS },
  prices: `
  kinds:
    overview: { enabled: false }
    daily: { enabled: true, refreshInterval: 1s, lookBack: 10d, fields: [OHLC, LastBidAsk] }
    intraday: { enabled: true, refreshInterval: 1s, lookBack: 2h, fields: [Close, BidAsk], interval: [Minute_5, Hour_1] }`,
};

testInstallation(
  'several fields of daily and intraday series, and both intervals, are written when they are new or have changed, also after a restart',
  SCENE,
  async (t, at) => {
    const { prefix, kafka } = at;
    for (const run of ['first', 'second']) {
      const connector = await at.start();
      await onceRight(() => {
        const answers = KINDS.map((kind) => answersOf(connector, kind));
        return Math.min(...answers) < INSTRUMENTS * 3 ? `${answers} answers in the ${run} run` : null;
      });
      const unreadable = connector.fieldsOf('recordsUnreadable');
      await connector.stop();
      await fencePrices(kafka, prefix);
      if (run === 'first') await writeForeignBytes(kafka, prefix);
      assert.deepEqual(
        [...new Set(unreadable.map(({ topic, reason, records }) => `${topic} ${reason} ${records}`))].sort(),
        run === 'first' ? [] : SERIES.map((topic) => `${prefix}.${topic} price 1`),
      );
    }

    for (const topic of SERIES) {
      const records = (await at.read(topic)).filter(({ key }) => String(key) !== FOREIGN);
      const contents = new Map<string, string[]>();
      for (const { key, value, partition } of records) {
        const content = value?.subarray(WIRE_HEADER_BYTES, value.length - MOMENTS_BYTES).toString('base64') ?? '';
        contents.set(`${partition} ${key}`, [...(contents.get(`${partition} ${key}`) ?? []), content]);
      }
      for (const [key, written] of contents) {
        const repeated = written.filter((content, at) => content === written[at - 1]).length;
        assert.equal(repeated, 0, `${topic}: ${repeated} of ${written.length} records of ${key} repeat the one before`);
      }
      const once = [...contents.values()].filter(({ length }) => length === 1).length;
      assert.ok(once >= INSTRUMENTS, `${topic}: ${once} of ${contents.size} windows were written once`);
      const seriesOf = (id: string) =>
        new Set(
          [...contents.keys()]
            .flatMap((key) => /^\d+ (\d+)\/(.*)\/[^/]*$/.exec(key)?.slice(1, 3) ?? [])
            .filter((_, at, all) => at % 2 === 1 && all[at - 1] === id),
        );
      const ids = new Set([...contents.keys()].map((key) => key.split(' ')[1]?.split('/')[0]));
      assert.equal(ids.size, INSTRUMENTS);
      for (const id of ids) assert.deepEqual([...seriesOf(id ?? '')].sort(), SERIES_OF[topic], `series of ${id}`);
      t.diagnostic(`${topic}: ${records.length} records of ${contents.size} windows, ${once} of them written once`);
    }
  },
);
