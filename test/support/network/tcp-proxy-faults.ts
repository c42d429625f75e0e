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
  hits(): number;
  /** How many of those that it delivered late the broker has answered. */
  answeredLate(): number;
}

export type AppliedFault = NonNullable<ReturnType<ReturnType<typeof createFaultPlan>['decide']>>;

const active = (rule: FaultRule) => ({ rule, matched: 0, hits: 0, answeredLate: 0, burstLeft: 0 });
type ActiveRule = ReturnType<typeof active>;

/** Rules as data: the first that applies to a request decides what happens to it. */
export function createFaultPlan() {
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
    add(rule: FaultRule): RuleHandle {
      const added = active(rule);
      rules.push(added);
      return { hits: () => added.hits, answeredLate: () => added.answeredLate };
    },
    clear() {
      rules = [];
    },
    decide(request: RequestHeader) {
      const found = rules.find((candidate) => applies(candidate, request));
      if (found === undefined) return undefined;
      found.hits += 1;
      found.burstLeft -= 1;
      const { fault, until, delayMs = 0 } = found.rule;
      return {
        fault,
        delay: (): Promise<unknown> => until ?? sleep(delayMs),
        /** The broker has answered a request that it got late. */
        onAnsweredLate() {
          found.answeredLate += 1;
        },
      };
    },
  };
}
