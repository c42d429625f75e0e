import type { Socket } from 'node:net';
import {
  createFrameSplitter,
  type RequestHeader,
  readAnswerCorrelationId,
  readRequestHeader,
} from '../kafka/kafka-wire.ts';
import type { AppliedFault, Fault } from './tcp-proxy-faults.ts';

export interface ProxiedRequest extends RequestHeader {
  /** Which of the proxy's connections carried it, from 1. */
  readonly connection: number;
  readonly fault: Fault | undefined;
}

/** One client's connection: frames pass in order in both directions, but for what `decide` says. */
export function createProxiedConnection(options: {
  readonly number: number;
  readonly client: Socket;
  readonly broker: Socket;
  readonly decide: (request: RequestHeader) => AppliedFault | undefined;
  readonly record: (request: ProxiedRequest) => void;
  readonly closed: () => void;
}): { cut(): void } {
  const { client, broker } = options;
  const awaited = new Map<number, AppliedFault>();
  let blackHole = false;
  let late: AppliedFault | undefined;

  function cut(): void {
    client.destroy();
    broker.destroy();
  }

  async function onRequest(frame: Buffer): Promise<void> {
    if (blackHole) return void options.record({ ...headerOf(frame), fault: 'blackHole' });
    const header = headerOf(frame);
    const applied = options.decide(header);
    options.record({ ...header, fault: applied?.fault });
    if (applied?.fault === 'cutRequest') return cut();
    if (applied?.fault === 'dropRequest') return;
    if (applied?.fault === 'blackHole') {
      blackHole = true;
      return;
    }
    if (applied?.fault === 'deliverLate') {
      late = applied;
      client.destroy();
      await applied.delay();
    } else if (applied?.fault === 'delayRequest') await applied.delay();
    else if (applied !== undefined) awaited.set(header.correlationId, applied);
    if (!broker.destroyed) broker.write(frame);
  }

  async function onAnswer(frame: Buffer): Promise<void> {
    const correlationId = readAnswerCorrelationId(frame);
    const applied = awaited.get(correlationId);
    awaited.delete(correlationId);
    // Whom it was for has gone.
    if (late) {
      late.onAnsweredLate();
      return void broker.destroy();
    }
    if (blackHole || applied?.fault === 'dropAnswer') return;
    if (applied?.fault === 'cutAnswer') return cut();
    if (applied?.fault === 'delayAnswer') await applied.delay();
    if (!client.destroyed && !blackHole) client.write(frame);
  }

  function headerOf(frame: Buffer) {
    return { ...readRequestHeader(frame), connection: options.number };
  }

  relay(client, onRequest, cut);
  relay(broker, onAnswer, cut);
  client.once('close', () => {
    if (late) return;
    broker.destroy();
    options.closed();
  });
  broker.once('close', () => {
    if (late) options.closed();
    // In a black hole even the broker's hanging up is not seen.
    if (!blackHole) client.destroy();
  });
  return { cut };
}

/** Hands frames on one after the other, so that a delayed one holds back those behind it. */
function relay(from: Socket, onFrame: (frame: Buffer) => Promise<void>, cut: () => void): void {
  const split = createFrameSplitter();
  let queue = Promise.resolve();
  from.setNoDelay(true);
  from.on('data', (chunk) => {
    for (const frame of split(chunk)) queue = queue.then(() => onFrame(frame)).catch(cut);
  });
  // Errors end in `close`, which both sides watch.
  from.on('error', () => undefined);
}
