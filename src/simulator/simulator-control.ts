import type { Endpoint, FaultRule } from './faults/fault.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { RequestLog } from './request-log.ts';
import type { Change, Published } from './universe/changes.ts';

/** What a test or an operator can do to the simulated provider; the control paths offer the same over HTTP. */
export interface SimulatorControl {
  readonly ledger: Ledger;
  readonly requests: RequestLog;
  /** How many instruments exist now. */
  readonly size: number;
  publish(change: Change): Published;
  /** A user triggers a pre-trade check; gives its id. `raw` replaces its JSON text, `{id}` in it its id. */
  triggerCheck(id: string, raw?: string): string;
  /** Makes so many random changes at once. */
  change(count: number): void;
  setChangeRate(perSecond: number): void;
  /** The list lags behind the event log by so much from now on; 0 for not at all. */
  setListLag(ms: number): void;
  /** Moves the simulated wall clock; prices, retention, tokens and the Date header go by it. */
  advanceClock(ms: number): void;
  /** Simulated wall clock, milliseconds since the epoch. */
  wallMs(): number;
  injectFaults(rules: readonly FaultRule[]): void;
  clearFaults(): void;
  faultRules(): readonly FaultRule[];
  /** How many faults have struck, by kind. */
  faultsStruck(): Readonly<Record<string, number>>;
  /** All tokens become invalid at once. */
  expireTokens(): void;
  /** Tokens are signed with a new key from now on. */
  rotateSigningKey(): void;
  /** The keys that verify the tokens, as a JWKS (RFC 7517). */
  signingKeys(): { readonly keys: readonly object[] };
  /** Calls the listener just before each accepted request is answered; gives a function that ends this. In-process only. */
  onRequest(listener: (endpoint: Endpoint, url: URL) => void): () => void;
  /** Forgets all events and goes on from this offset, lower ones included. */
  resetStream(to: string): void;
}
