import { z } from 'zod';
import type { Edit } from '../ledger/lossless-json.ts';
import { assertMembers, COUNT, type Members, MS, TEXT } from '../members.ts';
import { createChoices } from '../universe/random.ts';

const ENDPOINTS = [
  'token',
  'instruments',
  'instruments-my',
  'events',
  'events-my',
  'pre-trade-checks',
  'pre-trade-check',
  'bulk',
  'intraday',
  'daily',
  'overview',
] as const;

export type Endpoint = (typeof ENDPOINTS)[number];

/** An error that the simulator puts into a response. A response may have several faults of different kinds. */
export type Fault =
  /** Responds with this status. The default body is a ProblemDetails. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfterSeconds?: number;
      readonly body?: string;
      readonly contentType?: string;
    }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'redirect'; readonly status?: number; readonly location: string }
  | { readonly kind: 'expireTokens' }
  /** Responds with this body, for example HTML, or malformed or deep JSON. The default status is 200. */
  | { readonly kind: 'body'; readonly body: string; readonly contentType?: string; readonly status?: number }
  /** Adds or replaces headers of the response, for example Age or Date. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  /** Resets the connection (RST) after this share of the body; 0 means before the first byte. */
  | { readonly kind: 'reset'; readonly share?: number }
  | { readonly kind: 'truncate'; readonly how: 'contentLength' | 'chunked' | 'close'; readonly share?: number }
  | { readonly kind: 'cutJson'; readonly characters?: number }
  /** Replaces the first occurrence of a text in the body by one byte, such as 0xfc, an ü in Latin-1. */
  | { readonly kind: 'byte'; readonly text: string; readonly byte: number }
  | { readonly kind: 'compress'; readonly codings: readonly ('gzip' | 'deflate' | 'br')[] }
  /** Sends the head or the body slowly, a few bytes at a time. */
  | { readonly kind: 'slow'; readonly part: 'head' | 'body'; readonly bytesPerSecond: number }
  | { readonly kind: 'links'; readonly how: PageLinks; readonly url?: string }
  /** Changes rows of a page: the rows at these positions, or a share of all rows. Equal pages get equal changes. */
  | {
      readonly kind: 'poison';
      readonly rows?: readonly number[];
      readonly share?: number;
      readonly how: Poison;
    }
  /** Edits a JSON body by JSON pointers, for example expires_in of a token. */
  | { readonly kind: 'edit'; readonly edits: readonly Edit[] }
  /** Changes one item of a bulk response: the first item with one of these isins. Without `isins`: the first item. */
  | { readonly kind: 'bulk'; readonly how: BulkSpoil; readonly isins?: readonly string[] };

/**
 * `swap`: two items change places; `drop`: one item is missing; `add`: one item comes twice; `mismatch`: one item has
 * another isin; `type`: one item has another $type; `null`: one item has neither response nor errorResponse; `flag`:
 * the member `errors` contradicts the items; `refuse`: the whole request gets 400.
 */
export type BulkSpoil = 'swap' | 'drop' | 'add' | 'mismatch' | 'type' | 'null' | 'flag' | 'refuse';

/**
 * `missing`: the page has no links; `end`: next is null; `same`: next is the cursor of this request; `back`: next is
 * the cursor of the previous request; `lower`: next is a much lower cursor; `form`: next has a text that is no cursor;
 * `url`: next is the fault's `url`; `number`: next is a JSON number.
 */
export type PageLinks = 'missing' | 'end' | 'same' | 'back' | 'lower' | 'form' | 'url' | 'number';

export type Poison = { readonly edit: readonly Edit[] } | { readonly extraBytes: number } | { readonly text: string };

const STATUS = z.int().min(200).max(599);
const SHARE = z.number().min(0).max(1);
const POINTER = TEXT.regex(/^(\/.*)?$/s, 'a JSON pointer begins with /');
const JSON_TEXT = TEXT.refine(isJson, 'JSON text is expected; for a text: "\\"abc\\""');
const EDITS = z.array(z.strictObject({ pointer: POINTER, value: JSON_TEXT.optional() }));
const SPOILS = ['swap', 'drop', 'add', 'mismatch', 'type', 'null', 'flag', 'refuse'];
const POISON = z.union(
  [z.strictObject({ edit: EDITS }), z.strictObject({ extraBytes: COUNT }), z.strictObject({ text: TEXT })],
  '{"edit":[{"pointer":"…","value":"…"}]}, {"extraBytes":9} or {"text":"…"} is allowed',
);

/** The members of each kind of fault, in addition to `kind`. src/dev/simulator/README.md describes each kind. */
const MEMBERS: { readonly [Kind in Fault['kind']]: Members } = {
  status: {
    status: STATUS,
    retryAfterSeconds: z.number().min(0).optional(),
    body: TEXT.optional(),
    contentType: TEXT.optional(),
  },
  delay: { ms: MS },
  redirect: { status: STATUS.optional(), location: TEXT },
  expireTokens: {},
  body: { body: TEXT, contentType: TEXT.optional(), status: STATUS.optional() },
  headers: { headers: z.record(TEXT, TEXT) },
  reset: { share: SHARE.optional() },
  truncate: { how: z.enum(['contentLength', 'chunked', 'close']), share: SHARE.optional() },
  cutJson: { characters: COUNT.optional() },
  byte: { text: TEXT, byte: z.int().min(0).max(255) },
  compress: { codings: z.array(z.enum(['gzip', 'deflate', 'br'])) },
  slow: { part: z.enum(['head', 'body']), bytesPerSecond: z.number().positive() },
  links: {
    how: z.enum(['missing', 'end', 'same', 'back', 'lower', 'form', 'url', 'number']),
    url: TEXT.optional(),
  },
  poison: { rows: z.array(COUNT).optional(), share: SHARE.optional(), how: POISON },
  edit: { edits: EDITS },
  bulk: { how: z.enum(SPOILS), isins: z.array(TEXT).optional() },
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const PAGES = ['instruments', 'instruments-my', 'events', 'events-my', 'pre-trade-checks'] as const;
/** The endpoints whose responses a kind of fault can change; all endpoints if the kind is absent. */
const CHANGES: { readonly [Kind in Fault['kind']]?: readonly Endpoint[] } = {
  links: PAGES,
  poison: PAGES,
  bulk: ['bulk'],
};
const RULE_MEMBERS: Members = {
  match: z.unknown(),
  nth: z.int().min(1).optional(),
  count: COUNT.optional(),
  rate: SHARE.optional(),
  bodyHas: z.array(TEXT).optional(),
  fault: z.unknown(),
};

/** Exported for tests. */
export const FAULT_KINDS: readonly string[] = Object.keys(MEMBERS);

/** Verifies a rule that came as JSON from another process. @throws RangeError if it has a wrong member or value. */
export function assertRule(rule: FaultRule): void {
  assertMembers('A rule', rule, RULE_MEMBERS);
  checkRule(rule);
  const { fault } = rule;
  assertMembers(`The fault ${fault.kind}`, fault, { kind: TEXT, ...MEMBERS[fault.kind] });
}

/**
 * A fault, and the requests that get this fault. Without `rate`, `count` consecutive matching requests get the fault.
 * `nth` is the number of the first one since the rule was set. With `rate`, a random share of the requests gets the fault.
 */
export interface FaultRule {
  /** One endpoint, several endpoints, or `*` for all except the token endpoint. */
  readonly match: Endpoint | '*' | readonly Endpoint[];
  readonly nth?: number;
  /** The maximum number of requests that get the fault. Default: 1, or unlimited with `rate`. 0 means unlimited. */
  readonly count?: number;
  /** The probability that a request gets the fault. Replaces `nth`. */
  readonly rate?: number;
  /** A request matches only if its body contains one of these texts, for example an isin of a bulk call. */
  readonly bodyHas?: readonly string[];
  readonly fault: Fault;
}

export interface FaultScript {
  inject(rules: readonly FaultRule[]): void;
  clear(): void;
  /** The faults of one request, in the order of their rules. */
  take(endpoint: Endpoint, body?: string): readonly Fault[];
  readonly struck: ReadonlyMap<string, number>;
  readonly rules: readonly FaultRule[];
}

interface Armed {
  readonly rule: FaultRule;
  seen: number;
  struck: number;
}

const MAX_RULES = 1_000;

export function createFaultScript(seed: number, first: readonly FaultRule[]): FaultScript {
  const choices = createChoices(seed);
  const struck = new Map<string, number>();
  let armed: Armed[] = [];
  const inject = (rules: readonly FaultRule[]) => {
    if (armed.length + rules.length > MAX_RULES) throw new RangeError(`At most ${MAX_RULES} fault rules fit.`);
    for (const rule of rules) checkRule(rule);
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
    take(endpoint, body = '') {
      const taken = armed.filter((entry) => matches(entry.rule, endpoint, body) && strikes(entry, choices.chance));
      armed = armed.filter((entry) => entry.struck < limitOf(entry.rule));
      for (const { rule } of taken) struck.set(rule.fault.kind, (struck.get(rule.fault.kind) ?? 0) + 1);
      return taken.map(({ rule }) => rule.fault);
    },
  };
}

/** @throws RangeError if the kind of fault or an endpoint is unknown. */
function checkRule({ match, fault }: FaultRule): void {
  if (!FAULT_KINDS.includes(fault?.kind))
    throw new RangeError(`There is no fault ${fault?.kind}; there are: ${FAULT_KINDS.join(', ')}.`);
  const known: readonly string[] = ['*', ...ENDPOINTS];
  const unknown = [match].flat().find((name) => !known.includes(name));
  if (unknown !== undefined || match === undefined)
    throw new RangeError(`There is no endpoint ${unknown}; match is one of: ${known.join(', ')}.`);
  const changed = CHANGES[fault.kind];
  const unchanged = [match].flat().find((name) => name !== '*' && changed?.includes(name) === false);
  if (unchanged !== undefined)
    throw new RangeError(
      `The fault ${fault.kind} does not change ${unchanged}; use edit, or match: ${changed?.join(', ')}.`,
    );
}

function matches({ match, bodyHas, fault }: FaultRule, endpoint: Endpoint, body: string): boolean {
  if (CHANGES[fault.kind]?.includes(endpoint) === false) return false;
  if (bodyHas?.every((text) => !body.includes(text))) return false;
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
