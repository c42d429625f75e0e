import { ageChart } from '../drawing/age-chart.ts';
import { countText } from '../drawing/counts.ts';
import { type Html, html } from '../drawing/html.ts';
import { minuteChart } from '../drawing/minute-chart.ts';
import { deadLetters, fact, heading, length, troubleNotes, whenOf } from './card-parts.ts';
import type { ProcessorStatus, ShownFreshness, ShownKind } from './status.ts';

/** Problems of prices that are shown one by one. */
const MOST_PROBLEMS = 5;

/** The price processor: how fresh its prices are. */
export function processorCard(processor: ProcessorStatus, now: string): Html {
  const { name, wanted, partitions, freshness, lastBatchAt, written, perMinute } = processor;
  return html`<article class="card">${heading(processor, now)}<div class="soft">price processor, ${partitions.length} partitions of instruments here</div>
${troubleNotes(processor, now)}
<dl>
${freshness !== null ? freshnessFacts(freshness) : wanted === 'running' ? null : fact('Prices', html`none are requested until it is resumed`)}
${fact('Last batch', whenOf(lastBatchAt, now))}
${fact('Written', html`${countText(written.records)} prices`)}
${deadLetters(written.deadLetters, name)}
</dl>
${freshness === null ? null : freshness.kinds.map((kind) => agesChart(kind, freshness.kinds.length))}
${minuteChart('Prices a minute', perMinute)}</article>
`;
}

function freshnessFacts(freshness: ShownFreshness): Html {
  const { instruments, kinds, unreadable, pulled, lag } = freshness;
  return html`${fact('Instruments', html`${countText(instruments)}: ${statesText(freshness)}`)}
${unreadable > 0 ? fact('Unreadable', alarming(unreadable)) : null}
${fact('Overdue', alarming(freshness.overdue))}
${fact('Failing', failingText(freshness.failing))}
${kinds.slice(1).map(otherKind)}
${fact('Quoting pulled', html`${countText(pulled)}`)}
${fact('Input lag', html`${countText(lag)} records`)}`;
}

/** A kind beside the first one. */
function otherKind(kind: ShownKind): Html {
  const { overdue, failing } = kind;
  const counts = html`${statesText(kind)}; ${alarming(overdue)} overdue, failing: ${failingText(failing)}`;
  return fact(`Prices ${kind.kind}`, counts);
}

function agesChart(kind: ShownKind, kinds: number): Html {
  return ageChart(kinds === 1 ? 'Prices by age' : `Prices by age, ${kind.kind}`, agesText(kind), kind.ages);
}

function agesText({ ageP50Ms, ageP99Ms }: Pick<ShownKind, 'ageP50Ms' | 'ageP99Ms'>): string {
  return `half below ${length(ageP50Ms / 1_000)}, 99 % below ${length(ageP99Ms / 1_000)}`;
}

function alarming(count: number): Html {
  return count > 0 ? html`<span class="badge bad">${countText(count)}</span>` : html`0`;
}

/** Together they are all instruments. */
function statesText(kind: Pick<ShownKind, 'priced' | 'waiting' | 'repaid' | 'failing'>): Html {
  const { priced, waiting, repaid } = kind;
  const counts = { priced, waiting, failing: sumOf(kind.failing), repaid };
  const shown = Object.entries(counts).filter(([name, count]) => name === 'priced' || count > 0);
  return html`${shown.map(([name, count]) => `${countText(count)} ${name}`).join(', ')}`;
}

function sumOf(failing: Readonly<Record<string, number>>): number {
  return Object.values(failing).reduce((sum, count) => sum + count, 0);
}

function failingText(failing: Readonly<Record<string, number>>): Html {
  const problems = Object.entries(failing).sort(([, a], [, b]) => b - a);
  const count = sumOf(failing);
  const shown = problems
    .slice(0, MOST_PROBLEMS)
    .map(([problem, instruments]) => `${problem}: ${countText(instruments)}`);
  return html`${countText(count)}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
}
