// What decoding costs, as a multiple of JSON.parse of the same page in the same process: `node test/bench/decoding.ts
// [instruments] [rounds]`. The bars are 1.5 for the usual page, 3.5 for any odd but legal one, and turns of 5 ms.
// What was measured stands in README.md.
import { decodingCost } from '../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../support/decoding/page-variants.ts';

const [instruments = 1_000, rounds = 25] = process.argv.slice(2).map(Number);
const page = await usualPage(instruments);
const shown = (ms: number) => ms.toFixed(1).padStart(6);
console.log(
  `${instruments} instruments, ${rounds} rounds, Node.js ${process.version}; CPU of the process in ms, medians`,
);
console.log(`${'page'.padEnd(40)}     MB  parse decode  ratio  longest turn`);
for (const [what, variant] of new Map([['usual', page], ...oddPages(page)])) {
  const { parseMs, decodeMs, ratio, turnMs } = await decodingCost(variant, rounds);
  const cost = `${shown(variant.length / 1e6)} ${shown(parseMs)} ${shown(decodeMs)} ${ratio.toFixed(2).padStart(6)} ${shown(turnMs)}`;
  console.log(`${what.padEnd(40)} ${cost}`);
}
