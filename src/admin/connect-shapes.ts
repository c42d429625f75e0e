import type { TargetState } from '../worker/target.ts';
import type { ProcessorStatus, SourceStatus, Status, TaskState } from './status/status.ts';

/** Each source, and the price processor, is a connector with one task. */
export interface ConnectorDescription {
  readonly name: string;
  readonly type: 'source' | 'sink';
  /** Flat, as Connect has it; nothing secret in it. */
  readonly config: Readonly<Record<string, string>>;
  readonly topics: readonly string[];
}

type ConnectState = Uppercase<TargetState | TaskState> | 'RESTARTING';

const connectState = (state: TargetState | TaskState) => state.toUpperCase() as Uppercase<typeof state>;

export interface TaskShape {
  readonly id: number;
  readonly state: ConnectState;
  readonly worker_id: string;
  readonly version: string;
  readonly trace?: string;
}

export interface StatusShape {
  readonly name: string;
  readonly connector: Omit<TaskShape, 'id' | 'trace'>;
  readonly tasks: readonly TaskShape[];
  readonly type: ConnectorDescription['type'];
}

export function infoShape({ name, type, config }: ConnectorDescription, tasks: readonly TaskShape[]) {
  return { name, config, tasks: tasks.map(({ id }) => ({ connector: name, task: id })), type };
}

/** `GET /connectors/{name}/status`; a stopped connector has no task. */
export function statusShape(connector: ConnectorDescription, status: Status, workerId: string): StatusShape {
  const { name, type } = connector;
  const { version } = status;
  const state = connectState(known(status, name).wanted);
  const tasks = taskShapes(connector, status, workerId);
  return { name, connector: { state, worker_id: workerId, version }, tasks, type };
}

/** The response to a restart; a connector that has not failed is left alone where only failed ones are wanted. */
export function restartingShape(shape: StatusShape, onlyFailed: boolean): StatusShape {
  const state = 'RESTARTING';
  const connector = onlyFailed ? shape.connector : ({ ...shape.connector, state } as const);
  return { ...shape, connector, tasks: shape.tasks.map((task) => ({ ...task, state })) };
}

export function taskShapes({ name }: ConnectorDescription, status: Status, workerId: string): readonly TaskShape[] {
  const { wanted, task, trace } = known(status, name);
  if (wanted === 'stopped') return [];
  const { version } = status;
  return [{ id: 0, state: connectState(task), worker_id: workerId, version, ...(trace !== null && { trace }) }];
}

function known({ sources, processor }: Status, name: string): SourceStatus | ProcessorStatus {
  const found = [...sources, ...(processor === null ? [] : [processor])].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no connector ${name} here.`);
  return found;
}
