import { createChoices } from '../universe/random.ts';
import type { Endpoint, Fault, FaultRule } from './fault.ts';

/** Decides which faults strike a request. */
export interface FaultScript {
  /** Adds rules; they count requests from now on. */
  inject(rules: readonly FaultRule[]): void;
  clear(): void;
  /** The faults of one request, in the order in which their rules were given. */
  take(endpoint: Endpoint): readonly Fault[];
  /** How many faults have struck, by kind. */
  readonly struck: ReadonlyMap<string, number>;
  readonly rules: readonly FaultRule[];
}

interface Armed {
  readonly rule: FaultRule;
  seen: number;
  struck: number;
}

/** How many rules can be in force at once. */
const MAX_RULES = 1_000;

export function createFaultScript(seed: number, first: readonly FaultRule[]): FaultScript {
  const choices = createChoices(seed);
  const struck = new Map<string, number>();
  let armed: Armed[] = [];
  const inject = (rules: readonly FaultRule[]) => {
    if (armed.length + rules.length > MAX_RULES) throw new RangeError(`At most ${MAX_RULES} fault rules fit.`);
    armed.push(...rules.map((rule) => ({ rule, seen: 0, struck: 0 })));
  };
  inject(first);
  return {
    struck,
    inject,
    get rules() {
      return armed.map(({ rule }) => rule);
    },
    clear() {
      armed = [];
    },
    take(endpoint) {
      const taken = armed.filter((entry) => matches(entry.rule, endpoint) && strikes(entry, choices.chance));
      armed = armed.filter((entry) => entry.struck < limitOf(entry.rule));
      for (const { rule } of taken) struck.set(rule.fault.kind, (struck.get(rule.fault.kind) ?? 0) + 1);
      return taken.map(({ rule }) => rule.fault);
    },
  };
}

function matches({ match }: FaultRule, endpoint: Endpoint): boolean {
  if (match === '*') return endpoint !== 'token';
  return typeof match === 'string' ? match === endpoint : match.includes(endpoint);
}

function limitOf({ count, rate }: FaultRule): number {
  if (count === undefined) return rate === undefined ? 1 : Number.POSITIVE_INFINITY;
  return count === 0 ? Number.POSITIVE_INFINITY : count;
}

function strikes(entry: Armed, chance: (probability: number) => boolean): boolean {
  entry.seen += 1;
  if (entry.struck >= limitOf(entry.rule)) return false;
  const { rate, nth = 1 } = entry.rule;
  if (rate === undefined ? entry.seen < nth : !chance(rate)) return false;
  entry.struck += 1;
  return true;
}
