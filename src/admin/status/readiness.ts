import type { ProcessorStatus, ReadinessCheck, SourceStatus } from './status.ts';

interface Known {
  readonly topics: ReadinessCheck;
  readonly isStopping: boolean;
  readonly sources: readonly SourceStatus[];
  readonly processor: ProcessorStatus | null;
}

/**
 * Whether this process does all that is wanted of it. Ready is who has proven fences, offsets, schemas and topics; that
 * the provider answers is no part of it. What operators have stopped or paused is as it should be.
 */
export function readinessChecks({ topics, isStopping, sources, processor }: Known): readonly ReadinessCheck[] {
  return [
    check('process', !isStopping, isStopping ? 'it is stopping' : 'it runs'),
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
  if (wanted === 'stopped') return isReady(true, 'stopped as asked');
  if (owned === false) return isReady(true, 'joined the other replicas, one of which runs it');
  if (writerTrouble !== null) return isReady(false, `its writer is opened again: ${firstLine(writerTrouble)}`);
  if (task === 'unassigned') return isReady(false, 'not fenced yet, and its offset not read');
  if (task === 'paused') return isReady(true, 'paused as asked');
  if (!schemasRegistered) return isReady(false, 'its schemas are not registered yet');
  return isReady(true, 'fenced, offset read, schemas registered');
}

function processorCheck(processor: ProcessorStatus): ReadinessCheck {
  const { name, wanted, task, trace, trouble, partitions, assigned, writerTrouble } = processor;
  const isReady = (ok: boolean, why: string) => check(name, ok, why);
  if (task === 'failed') return isReady(false, `failed: ${firstLine(trace)}`);
  if (wanted !== 'running') return isReady(true, `${wanted} as asked`);
  if (task !== 'running') {
    const why = trouble === null ? ' yet' : `: ${firstLine(trouble.message)}`;
    return isReady(false, `it has not joined its group${why}`);
  }
  if (partitions.length < assigned) {
    const why = writerTrouble === null ? '' : `: ${firstLine(writerTrouble)}`;
    return isReady(false, `${partitions.length} of its ${assigned} partitions are fenced and read${why}`);
  }
  return isReady(true, `it has joined its group; its partitions, ${assigned}, are fenced and read`);
}

function check(name: string, ok: boolean, why: string): ReadinessCheck {
  return { name, ok, why };
}

function firstLine(text: string | null): string {
  return text?.split('\n')[0] ?? '';
}
