import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiName, RequestHeader } from '../kafka/kafka-wire.ts';

/** What happens to a request, to its answer, or to the connection that carries it. */
export type Fault =
  /** The connection is cut instead of forwarding the request. */
  | 'cutRequest'
  /** The broker gets the request; the connection is cut instead of forwarding the answer. */
  | 'cutAnswer'
  /** The request is swallowed; the connection lives on. */
  | 'dropRequest'
  /** The answer is swallowed; the connection lives on. */
  | 'dropAnswer'
  /** From this request on nothing passes on this connection in either direction, and it stays open. */
  | 'blackHole'
  /** The request, and all behind it on this connection, wait for `delayMs`, or `until`. */
  | 'delayRequest'
  /** The client's connection is cut at once; the broker gets the request all the same, `delayMs` later, or after `until`. */
  | 'deliverLate'
  /** The answer, and all behind it on this connection, wait for `delayMs`, or `until`. */
  | 'delayAnswer';

export interface FaultRule {
  readonly on: ApiName | readonly ApiName[];
  readonly fault: Fault;
  readonly delayMs?: number;
  /** Ends the waiting, in place of `delayMs`: a test that says when need not guess how long anything else takes. */
  readonly until?: Promise<unknown>;
  /** So many matching requests pass before the rule begins; none by default. */
  readonly skip?: number;
  /** So many are hit before the rule ends; one by default. */
  readonly times?: number;
  /** Each is hit with this probability, 0 to 1; always by default. */
  readonly chance?: number;
  /** So many matching requests in a row are hit each time, which outlasts a client's retries; one by default. */
  readonly burst?: number;
  /** Decides for a rule with a chance. */
  readonly random?: () => number;
}

export interface RuleHandle {
  /** How many requests the rule has hit. */
  hits(): number;
  /** How many of those that it delivered late the broker has answered. */
  answeredLate(): number;
}

export interface AppliedFault {
  readonly fault: Fault;
  /** Resolves when the delay is over. */
  readonly delay: () => Promise<unknown>;
  /** Called when the broker has answered a request that it got late. */
  readonly onAnsweredLate: () => void;
}

export interface FaultPlan {
  add(rule: FaultRule): RuleHandle;
  clear(): void;
  decide(request: RequestHeader): AppliedFault | undefined;
}

interface ActiveRule {
  readonly rule: FaultRule;
  matched: number;
  hits: number;
  answeredLate: number;
  burstLeft: number;
}

/** Rules as data: the first that applies to a request decides what happens to it. */
export function createFaultPlan(): FaultPlan {
  let rules: ActiveRule[] = [];

  function applies(active: ActiveRule, request: RequestHeader): boolean {
    const { on, skip = 0, times = 1, chance = 1, burst = 1, random = Math.random } = active.rule;
    if (!(typeof on === 'string' ? on === request.api : on.some((api) => api === request.api))) return false;
    active.matched += 1;
    if (active.matched <= skip || active.hits >= times) return false;
    if (active.burstLeft === 0 && random() < chance) active.burstLeft = burst;
    return active.burstLeft > 0;
  }

  return {
    add(rule) {
      const active = { rule, matched: 0, hits: 0, answeredLate: 0, burstLeft: 0 };
      rules.push(active);
      return { hits: () => active.hits, answeredLate: () => active.answeredLate };
    },
    clear() {
      rules = [];
    },
    decide(request) {
      const active = rules.find((candidate) => applies(candidate, request));
      if (active === undefined) return undefined;
      active.hits += 1;
      active.burstLeft -= 1;
      const { fault, until, delayMs = 0 } = active.rule;
      const onAnsweredLate = () => {
        active.answeredLate += 1;
      };
      return { fault, delay: () => until ?? sleep(delayMs), onAnsweredLate };
    },
  };
}
