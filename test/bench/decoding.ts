// What decoding costs, as a multiple of JSON.parse of the same page in the same process: `node --expose-gc
// test/bench/decoding.ts [instruments] [rounds]`. The bars are 1.5 for the usual page and 3.5 for any odd but legal one.
import { decodingCost } from '../support/decoding-cost.ts';
import { oddPages, usualPage } from '../support/page-variants.ts';

const [instruments = 1_000, rounds = 25] = process.argv.slice(2).map(Number);
const page = await usualPage(instruments);
console.log(
  `${instruments} instruments, ${rounds} rounds, Node.js ${process.version}${globalThis.gc ? '' : ', without --expose-gc'}`,
);
for (const [what, variant] of new Map([['usual page', page], ...oddPages(page)])) {
  const { parseMs, decodeMs, ratio } = await decodingCost(variant, rounds);
  const megabytes = (variant.length / 1e6).toFixed(1);
  console.log(
    `${what.padEnd(40)} ${megabytes.padStart(6)} MB   parse ${parseMs.toFixed(1).padStart(6)} ms   decode ${decodeMs.toFixed(1).padStart(6)} ms   ${ratio.toFixed(2)}`,
  );
}
