import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi } from './api.ts';
import { createSimulatorClock } from './clock.ts';
import { CONTROL_BASE, createControl } from './control.ts';
import type { Endpoint } from './faults/fault.ts';
import { createFaultScript } from './faults/fault-script.ts';
import { createEventLog, parseOffset } from './ledger/event-log.ts';
import { createEventText } from './ledger/event-text.ts';
import { createLedger } from './ledger/ledger.ts';
import { createPriceLedger } from './ledger/price-ledger.ts';
import { createSimulatedMarketData, MARKET_BASE } from './market-data.ts';
import { DEFAULTS, type SimulatorOptions, type SimulatorSettings } from './options.ts';
import { createSimulatedPreTradeChecks } from './pre-trade-checks.ts';
import { createSimulatedReferenceData, REFERENCE_BASE } from './reference-data.ts';
import { createRequestLog } from './request-log.ts';
import { TOKEN_PATH } from './routes.ts';
import type { SimulatorControl } from './simulator-control.ts';
import { createTokens } from './tokens.ts';
import { createChanges } from './universe/changes.ts';
import { createDelisting } from './universe/delisting.ts';
import { createInstrumentFinder } from './universe/instrument-finder.ts';
import { createInstrumentText } from './universe/instrument-text.ts';
import { createLife } from './universe/life.ts';
import { createPriceWriter } from './universe/prices.ts';
import { createUniverse } from './universe/universe.ts';

/** A running simulated provider of both interfaces. */
export interface Simulator extends SimulatorControl {
  readonly url: string;
  readonly referenceDataUrl: string;
  readonly marketDataUrl: string;
  readonly tokenUrl: string;
  /** Where the control paths begin, with a slash at the end. */
  readonly controlUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/** How many ids of poisoned rows are remembered. */
const MAX_POISONED = 1_000_000;

/** Starts the simulated provider and resolves when it listens. Rejects when the port is taken. */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings: SimulatorSettings = { ...DEFAULTS, ...options };
  const clock = options.clock ?? createSimulatorClock();
  const { seed } = settings;

  const text = createInstrumentText({ seed, myShare: settings.myShare });
  const universe = createUniverse({ ...settings, clock });
  const log = createEventLog({ clock, retentionMs: settings.retentionMs, lagMs: settings.eventLagMs });
  const eventText = createEventText(text, settings.eventForm);
  const checks = createSimulatedPreTradeChecks({ seed, clock, universe, text, form: settings.eventForm });
  const changes = createChanges({ universe, log, text, clock });
  const triggerCheck = (id: bigint, raw?: string) => checks.trigger(id, raw).preTradeCheckId;
  const delisting = createDelisting({ ...settings, universe, clock });
  const life = createLife({ ...settings, delisting, universe, changes, clock, triggerCheck });

  const tokens = createTokens({ ...settings, lifetimeSeconds: settings.tokenLifetimeSeconds, clock });
  const faults = createFaultScript(seed, settings.faults);
  const requests = createRequestLog();
  const prices = createPriceLedger(settings.keptPrices);
  const finder = createInstrumentFinder(universe, text, changes.rawIds);
  const poisonedIds = new Set<bigint>();
  const poisoned = (id: bigint) => {
    if (poisonedIds.size < MAX_POISONED) poisonedIds.add(id);
  };
  const listeners: Listeners = new Set();
  const asked = (endpoint: Endpoint, url: URL) => {
    for (const listener of listeners) listener(endpoint, url);
  };
  const reference = createSimulatedReferenceData({ settings, universe, text, log, eventText, checks });
  const market = createSimulatedMarketData({
    settings,
    finder,
    writer: createPriceWriter(settings.priceStepMs),
    ledger: prices,
    clock,
  });
  const api = createApi({ settings, clock, tokens, reference, market, faults, requests, poisoned, asked });

  const ledger = createLedger({ universe, text, log, eventText, checks, prices, poisoned: poisonedIds });
  const parts = { ledger, requests, universe, changes, life, clock, faults, tokens, log, listeners, triggerCheck };
  const control = createSimulatorControl(parts);
  const controlApi = createControl(control);
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://simulator.invalid') ?? new URL('http://simulator.invalid/');
    life.catchUp();
    const handle = url.pathname.startsWith(CONTROL_BASE) ? controlApi : api;
    // What fails here is a connection that is gone, or a fault that does not fit the response: the client sees it cut.
    handle(request, response, url).catch(() => response.destroy());
  });
  const url = await listen(server, settings);
  return Object.assign(control, {
    url,
    referenceDataUrl: url + REFERENCE_BASE,
    marketDataUrl: url + MARKET_BASE,
    tokenUrl: url + TOKEN_PATH,
    controlUrl: url + CONTROL_BASE,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

type Listeners = Set<(endpoint: Endpoint, url: URL) => void>;

interface ControlledParts extends Pick<SimulatorControl, 'ledger' | 'requests'> {
  readonly universe: ReturnType<typeof createUniverse>;
  readonly changes: ReturnType<typeof createChanges>;
  readonly life: ReturnType<typeof createLife>;
  readonly clock: NonNullable<SimulatorOptions['clock']>;
  readonly faults: ReturnType<typeof createFaultScript>;
  readonly tokens: ReturnType<typeof createTokens>;
  readonly log: ReturnType<typeof createEventLog>;
  readonly listeners: Listeners;
  readonly triggerCheck: (id: bigint, raw?: string) => string;
}

function createSimulatorControl(parts: ControlledParts): SimulatorControl {
  const { ledger, requests, universe, changes, life, clock, faults, tokens, log, listeners, triggerCheck } = parts;
  return {
    ledger,
    requests,
    get size() {
      return universe.size;
    },
    publish: (change) => changes.apply(change),
    triggerCheck: (id, raw) => triggerCheck(BigInt(id), raw),
    change: (count) => life.change(count),
    setChangeRate: (rate) => life.setRate(rate),
    setListLag: (ms) => universe.setListLag(ms),
    advanceClock: (ms) => clock.advance(ms),
    wallMs: () => clock.wallMs(),
    injectFaults: (rules) => faults.inject(rules),
    clearFaults: () => faults.clear(),
    faultRules: () => faults.rules,
    faultsStruck: () => Object.fromEntries(faults.struck),
    expireTokens: () => tokens.invalidateAll(),
    rotateSigningKey: () => tokens.keys.rotate(),
    signingKeys: () => tokens.keys.published(),
    onRequest(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    resetStream: (to) => log.reset(offsetOf(to)),
  };
}

/** @returns where it listens. */
async function listen(server: Server, { port, host }: SimulatorSettings): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address() as AddressInfo;
  return `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${address.port}`;
}

function offsetOf(text: string) {
  const offset = parseOffset(text);
  if (!offset) throw new RangeError('The offset does not have the form <digits>-<digits>.');
  return offset;
}
