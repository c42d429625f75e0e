// What decoding costs, as a multiple of JSON.parse of the same body in the same process, for pages of instruments and bulk
// responses of half as many items: `node test/bench/decoding.ts [instruments] [rounds] [words]`, where words pick the
// bodies by what they are called. The bars are 1.5 for the usual body, 3.5 for any odd but legal one, and turns of 5 ms.
// What was measured stands in README.md.
import { oddBulkBodies, usualBulkBody } from '../support/decoding/bulk-variants.ts';
import { bulkDecoding, decodingCost, pageDecoding } from '../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../support/decoding/page-variants.ts';

const [instruments = 1_000, rounds = 25] = process.argv.slice(2, 4).map(Number);
const words = process.argv.slice(4);
const page = await usualPage(instruments);
const bulk = await usualBulkBody(instruments / 2);
const shown = (ms: number) => ms.toFixed(1).padStart(6);
console.log(
  `${instruments} instruments, ${rounds} rounds, Node.js ${process.version}; CPU of the process in ms, medians`,
);
console.log(`${'body'.padEnd(60)}     MB  parse decode  ratio  longest turn`);
for (const [what, variant] of [['usual', page] as const, ...oddPages(page)]) {
  await show(`page: ${what}`, variant, pageDecoding());
}
for (const [what, { isins, body }] of [['usual', bulk] as const, ...oddBulkBodies(bulk)]) {
  await show(`bulk: ${what}`, body, bulkDecoding(isins));
}

async function show(what: string, body: Buffer, decode: ReturnType<typeof pageDecoding>): Promise<void> {
  if (!words.every((word) => what.includes(word))) return;
  const { parseMs, decodeMs, ratio, turnMs } = await decodingCost(body, decode, rounds);
  const cost = `${shown(body.length / 1e6)} ${shown(parseMs)} ${shown(decodeMs)} ${ratio.toFixed(2).padStart(6)} ${shown(turnMs)}`;
  console.log(`${what.padEnd(60)} ${cost}`);
}
