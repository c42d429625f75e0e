import { benchDecoding } from './decoding-bench.ts';

/*
 * node test/bench/decoding.ts [instruments] [rounds] [words]
 *
 * Decoding alone, as a multiple of `JSON.parse` of the same body in the same process, where words pick the bodies by what
 * they are called. The bars are 1.5 for the usual body, 3.5 for any odd but legal one, and turns of 5 ms. What was
 * measured stands in README.md.
 */
const [instruments = 1_000, rounds = 25] = process.argv.slice(2, 4).map(Number);
console.log(`${instruments} instruments, ${rounds} rounds, Node.js ${process.version}`);
console.log(`${'body'.padEnd(60)}     MB  parse decode  ratio  longest turn`);
const shown = (value: number, digits: number) => value.toFixed(digits).padStart(6);
for await (const of of benchDecoding(instruments, rounds, process.argv.slice(4))) {
  const times = `${shown(of.parseMs, 1)} ${shown(of.decodeMs, 1)} ${shown(of.timesParse, 2)} ${shown(of.longestTurnMs, 1)}`;
  console.log(`${of.body.padEnd(60)} ${shown(of.megabytes, 1)} ${times}`);
}
