import { oddBulkBodies, usualBulkBody } from '../support/decoding/bulk-variants.ts';
import { bulkDecoding, decodingCost, pageDecoding } from '../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../support/decoding/page-variants.ts';
import { round } from './rounding.ts';

/**
 * Decoding alone beside `JSON.parse` of the same body, in this process: a usual page and a usual bulk response of half as
 * many items, and odd but legal forms of both. Of these, those in whose names all words stand.
 */
export async function* benchDecoding(instruments: number, rounds: number, words: readonly string[] = []) {
  const page = await usualPage(instruments);
  const bulk = await usualBulkBody(Math.ceil(instruments / 2));
  const bodies = [
    ...[['usual', page] as const, ...oddPages(page)].map(
      ([what, body]) => [`page: ${what}`, body, pageDecoding] as const,
    ),
    ...[['usual', bulk] as const, ...oddBulkBodies(bulk)].map(
      ([what, { isins, body }]) => [`bulk: ${what}`, body, () => bulkDecoding(isins)] as const,
    ),
  ];
  for (const [what, body, decoding] of bodies) {
    if (!words.every((word) => what.includes(word))) continue;
    const { parseMs, decodeMs, ratio, turnMs } = await decodingCost(body, decoding(), rounds);
    const [megabytes, timesParse, longestTurnMs] = [body.length / 1e6, ratio, turnMs].map(round) as [
      number,
      number,
      number,
    ];
    yield { body: what, megabytes, parseMs: round(parseMs), decodeMs: round(decodeMs), timesParse, longestTurnMs };
  }
}
