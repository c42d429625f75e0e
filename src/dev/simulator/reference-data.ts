import { type Answer, jsonAnswer, problem } from './answer.ts';
import { compareOffsets, type EventLog, type EventText, offsetText, parseOffset } from './ledger/event-log.ts';
import type { SimulatorSettings } from './options.ts';
import type { Page } from './page.ts';
import type { SimulatedPreTradeChecks } from './pre-trade-checks.ts';
import { Query } from './query.ts';
import { EVENT_TYPES } from './universe/changes.ts';
import type { InstrumentText } from './universe/instrument-text.ts';
import { LIST_FORM } from './universe/text-template.ts';
import type { Member, Universe } from './universe/universe.ts';

/** The endpoints of part 4.2 of src/provider/README.md. Each returns a page, or an error response. */
export interface SimulatedReferenceData {
  instruments(parameters: URLSearchParams, mine: boolean): Page | Answer;
  events(parameters: URLSearchParams, mine: boolean): Page | Answer;
  preTradeChecks(parameters: URLSearchParams): Page | Answer;
  preTradeCheck(preTradeCheckId: string): Answer;
}

export const REFERENCE_BASE = '/reference-data';
const DEFAULT_LIMIT = 1_000;
const DEFAULT_MAX_EVENTS = 500;
const MAX_CHECKS_PER_ANSWER = 100;
const MAX_ID = 2n ** 63n - 1n;

interface Parts {
  readonly settings: SimulatorSettings;
  readonly universe: Universe;
  readonly text: InstrumentText;
  readonly log: EventLog;
  readonly eventText: EventText;
  readonly checks: SimulatedPreTradeChecks;
}

export function createSimulatedReferenceData(parts: Parts): SimulatedReferenceData {
  const { settings, checks } = parts;
  return {
    instruments: (parameters, mine) => instrumentsPage(parts, parameters, mine),
    events: (parameters, mine) => eventsPage(parts, parameters, mine),
    preTradeChecks: (parameters) => checksPage(parts, parameters),
    preTradeCheck(preTradeCheckId) {
      const check = checks.find(preTradeCheckId);
      if (!check) return problem(404, 'There is no such pre-trade check.');
      return jsonAnswer(settings.wrappedCheck ? `{"preTradeCheck":${checks.write(check)}}` : checks.write(check));
    },
  };
}

function instrumentsPage(parts: Parts, parameters: URLSearchParams, mine: boolean): Page | Answer {
  const { settings, universe, text, log } = parts;
  const query = new Query(parameters);
  const legalCountry = query.text('legalCountry');
  const limit = Number(
    query.integer('limit', 1n, BigInt(settings.maxLimit)) ?? Math.min(DEFAULT_LIMIT, settings.maxLimit),
  );
  const minId = query.integer('minId', 0n, MAX_ID);
  if (query.refusals) return problem(400, 'The parameters are not valid.', query.refusals);

  const from = (minId ?? 0n) + (settings.minIdMode === 'exclusive' && minId !== null ? 1n : 0n);
  const page: Member[] = [];
  let more = false;
  const lagMs = universe.nextListLagMs();
  for (const member of universe.listed(from, lagMs)) {
    if (mine && !text.isMine(member.id)) continue;
    if (legalCountry !== null && text.legalCountry(member.id, member.version) !== legalCountry) continue;
    more = page.length === limit;
    if (more) break;
    page.push(member);
  }
  const scope = mine ? '/my' : '';
  const country = legalCountry === null ? {} : { legalCountry };
  const next = {
    ...country,
    minId: String(nextMinId(settings, page, (page.at(-1)?.id ?? 0n) + 1n)),
    limit: String(limit),
  };
  const seen = log.newest();
  const start = { ...country, since: offsetText(settings.startsAhead ? log.last() : seen) };
  return {
    listKey: 'instruments',
    rows: page.map(({ id, version }) => ({ id, text: text.write(id, version, LIST_FORM) })),
    links: {
      next: more ? link(`/v1/instruments${scope}`, next) : 'null',
      events: link(`/v1/instruments/events${scope}`, start),
    },
  };
}

function nextMinId(settings: SimulatorSettings, page: readonly Member[], next: bigint): bigint {
  const last = page.at(-1)?.id ?? 0n;
  if (settings.minIdMode === 'exclusive') return last;
  // If a page of one row overlapped, the next page would be the same page.
  return settings.minIdMode === 'overlapping' && page.length > 1 ? last : next;
}

function eventsPage(parts: Parts, parameters: URLSearchParams, mine: boolean): Page | Answer {
  const { settings, text, log, eventText } = parts;
  const query = new Query(parameters);
  const since = query.offset('since') ?? offsetText(log.newest());
  const legalCountry = query.text('legalCountry');
  const eventType = query.oneOf('eventType', EVENT_TYPES);
  const max = query.integer('maxEvents', 1n, BigInt(settings.maxMaxEvents));
  const asked = Number(max ?? Math.min(DEFAULT_MAX_EVENTS, settings.maxMaxEvents));
  const maxEvents = clamped(settings, asked);
  if (query.refusals) return problem(400, 'The parameters are not valid.', query.refusals);

  const from = parseOffset(since) ?? log.newest();
  const newest = offsetText(log.newest());
  const filter = settings.linksForgetFilter
    ? {}
    : { ...(legalCountry !== null && { legalCountry }), ...(eventType !== null && { eventType }) };
  const envelope = (nextId: string, cursor: string, rows: Page['rows']): Page => ({
    listKey: 'events',
    rows,
    nextId,
    links: {
      next: link(`/v1/instruments/events${mine ? '/my' : ''}`, {
        ...filter,
        since: cursor,
        maxEvents: String(settings.namesAnswerClamp ? maxEvents : asked),
      }),
    },
  });
  if (log.replica !== null && compareOffsets(from, log.newest()) > 0) {
    const { beyond } = log.replica;
    if (typeof beyond === 'number') return problem(beyond, 'The offset is not known.');
    return envelope(beyond === 'echo' ? since : newest, beyond === 'back' ? newest : since, []);
  }
  if (log.isExpired(from) && settings.expiredSince !== 'oldest') {
    if (typeof settings.expiredSince === 'number')
      return problem(settings.expiredSince, 'The offset is no longer retained.');
    return envelope(settings.expiredSince === 'empty' ? since : newest, since, []);
  }
  const rows: Page['rows'][number][] = [];
  let [cursor, scanned] = [since, 0];
  for (const entry of log.after(from)) {
    if (rows.length === maxEvents || (settings.eventScanLimit > 0 && scanned === settings.eventScanLimit)) break;
    if (!settings.staysOverFiltered) cursor = offsetText(entry.offset);
    scanned += 1;
    if (entry.hidden || (eventType !== null && entry.type !== eventType)) continue;
    if (entry.raw === null && mine && !text.isMine(entry.id)) continue;
    if (entry.raw === null && legalCountry !== null && text.legalCountry(entry.id, entry.version) !== legalCountry)
      continue;
    cursor = offsetText(entry.offset);
    rows.push({ id: entry.id, text: eventText.write(entry) });
  }
  return envelope(settings.nextIdOf === 'log' ? newest : cursor, cursor, rows);
}

function checksPage({ settings, checks }: Parts, parameters: URLSearchParams): Page | Answer {
  const query = new Query(parameters);
  const since = query.offset('since');
  if (query.refusals) return problem(400, 'The parameters are not valid.', query.refusals);
  const found = [...checks.after(parseOffset(since ?? '') ?? { ms: 0, sequence: 0 })].slice(
    0,
    clamped(settings, MAX_CHECKS_PER_ANSWER),
  );
  const last = found.at(-1);
  const cursor = last ? offsetText(last.offset) : (since ?? offsetText(checks.newest()));
  return {
    listKey: 'preTradeChecks',
    rows: found.map((check) => ({ id: check.id, text: checks.write(check) })),
    nextId: settings.nextIdOf === 'log' ? offsetText(checks.newest()) : cursor,
    links: { next: link('/v1/pretradechecks', { since: cursor }) },
  };
}

function clamped({ answerClamp }: SimulatorSettings, asked: number): number {
  return answerClamp === 0 ? asked : Math.min(asked, answerClamp);
}

function link(path: string, parameters: Record<string, string>): string {
  return JSON.stringify(`${REFERENCE_BASE}${path}?${new URLSearchParams(parameters)}`);
}
