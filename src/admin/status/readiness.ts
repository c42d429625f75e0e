import type { ProcessorStatus, ReadinessCheck, SourceStatus } from './status.ts';

interface Known {
  readonly topics: ReadinessCheck;
  readonly isStopping: boolean;
  readonly sources: readonly SourceStatus[];
  readonly processor: ProcessorStatus | null;
}

/**
 * Whether this process does all that is wanted of it. It is ready when fences, offsets, schemas and topics are
 * proven; whether the provider responds is no part of it. A source that an operator stopped or paused counts as ready.
 */
export function readinessChecks({ topics, isStopping, sources, processor }: Known): readonly ReadinessCheck[] {
  return [
    check('process', !isStopping, isStopping ? 'stopping' : 'running'),
    topics,
    ...sources.map(sourceCheck),
    ...(processor === null ? [] : [processorCheck(processor)]),
  ];
}

function sourceCheck({
  name,
  wanted,
  task,
  owned,
  writerTrouble,
  schemasRegistered,
  trace,
}: SourceStatus): ReadinessCheck {
  const isReady = (ok: boolean, why: string) => check(`source ${name}`, ok, why);
  if (task === 'failed') return isReady(false, `failed: ${firstLine(trace)}`);
  if (wanted === 'stopped') return isReady(true, 'stopped as requested');
  if (owned === false) return isReady(true, 'another replica runs it');
  if (writerTrouble !== null) return isReady(false, `its writer is being opened again: ${firstLine(writerTrouble)}`);
  if (task === 'unassigned') return isReady(false, 'not fenced yet, and its offset not read yet');
  if (task === 'paused') return isReady(true, 'paused as requested');
  if (!schemasRegistered) return isReady(false, 'its schemas are not registered yet');
  return isReady(true, 'fenced, offset read, schemas registered');
}

function processorCheck(processor: ProcessorStatus): ReadinessCheck {
  const { name, wanted, task, trace, trouble, partitions, assigned, writerTrouble } = processor;
  const isReady = (ok: boolean, why: string) => check(name, ok, why);
  if (task === 'failed') return isReady(false, `failed: ${firstLine(trace)}`);
  if (wanted !== 'running') return isReady(true, `${wanted} as requested`);
  if (task !== 'running') {
    const why = trouble === null ? ' yet' : `: ${firstLine(trouble.message)}`;
    return isReady(false, `not joined its group${why}`);
  }
  if (partitions.length < assigned) {
    const why = writerTrouble === null ? '' : `: ${firstLine(writerTrouble)}`;
    return isReady(false, `${partitions.length} of its ${assigned} assigned partitions are fenced and read${why}`);
  }
  return isReady(true, `joined its group; all ${assigned} assigned partitions are fenced and read`);
}

function check(name: string, ok: boolean, why: string): ReadinessCheck {
  return { name, ok, why };
}

function firstLine(text: string | null): string {
  return text?.split('\n')[0] ?? '';
}
