import type { Simulator } from '../../../src/dev/simulator/simulator.ts';

const EVERY_MS = 250;
const KINDS = [
  ...Array.from({ length: 14 }, () => 'datachange' as const),
  'rulebasedparameteradjustment',
  'barriercross',
  'couponpayment',
  'repayment',
] as const;
const LEAVES_SHARE = 0.04;
const ISSUED_SHARE = 0.03;

/**
 * Changes the provider's universe until it is stopped; of the share of quiet instruments nothing is reported but that they leave the list. Those that leave the list have had no event: what has had one is
 * deleted by a walk of an hour later only, since a list that lags may lack it too.
 */
export function keepChanging(
  simulator: Simulator,
  { perSecond, quietShare = 0.3 }: { readonly perSecond: number; readonly quietShare?: number },
  random: () => number,
): () => void {
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
  const quiet = Math.floor(ids.length * quietShare);
  const [leaving, moving] = [ids.slice(0, quiet), ids.slice(quiet)];
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
  const change = () => {
    const share = random();
    const gone = share < LEAVES_SHARE ? leaving.pop() : undefined;
    if (gone !== undefined) simulator.publish({ kind: 'vanish', id: gone });
    else if (share < LEAVES_SHARE + ISSUED_SHARE) simulator.publish({ kind: 'newissue' });
    else simulator.publish({ kind: pick(KINDS), id: pick(moving) });
  };
  let owed = 0;
  const timer = setInterval(() => {
    for (owed += (perSecond * EVERY_MS) / 1_000; owed >= 1; owed--) change();
  }, EVERY_MS);
  return () => clearInterval(timer);
}
