import type { TargetState } from '../../connector/source-state.ts';
import type { ProcessorStatus, SourceStatus, Status, TaskState } from '../status.ts';

/** What this process runs, as Kafka Connect calls it: each source, and the price processor, is a connector with one task. */
export interface ConnectorDescription {
  readonly name: string;
  readonly type: 'source' | 'sink';
  /** Flat, as Connect has it; nothing secret in it. */
  readonly config: Readonly<Record<string, string>>;
  readonly topics: readonly string[];
}

type ConnectState = 'RUNNING' | 'PAUSED' | 'STOPPED' | 'FAILED' | 'UNASSIGNED' | 'RESTARTING';

const CONNECTOR_STATES: Readonly<Record<TargetState, ConnectState>> = {
  running: 'RUNNING',
  paused: 'PAUSED',
  stopped: 'STOPPED',
};

const TASK_STATES: Readonly<Record<TaskState, ConnectState>> = {
  unassigned: 'UNASSIGNED',
  running: 'RUNNING',
  paused: 'PAUSED',
  failed: 'FAILED',
};

export interface TaskShape {
  readonly id: number;
  readonly state: ConnectState;
  readonly worker_id: string;
  /** Why it has failed. */
  readonly trace?: string;
}

/** `GET /connectors/{name}` */
export function infoShape({ name, type, config }: ConnectorDescription, tasks: readonly TaskShape[]) {
  return { name, config, tasks: tasks.map(({ id }) => ({ connector: name, task: id })), type };
}

/** `GET /connectors/{name}/status`; a stopped connector has no task. */
export function statusShape(connector: ConnectorDescription, status: Status, workerId: string) {
  const { name, type } = connector;
  const { wanted } = known(status, name);
  const state = CONNECTOR_STATES[wanted];
  return { name, connector: { state, worker_id: workerId }, tasks: taskShapes(connector, status, workerId), type };
}

export function taskShapes({ name }: ConnectorDescription, status: Status, workerId: string): readonly TaskShape[] {
  const { wanted, task, trace } = known(status, name);
  if (wanted === 'stopped') return [];
  return [{ id: 0, state: TASK_STATES[task], worker_id: workerId, ...(trace !== null && { trace }) }];
}

function known({ sources, processor }: Status, name: string): SourceStatus | ProcessorStatus {
  const found = [...sources, ...(processor === null ? [] : [processor])].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no connector ${name} here.`);
  return found;
}
