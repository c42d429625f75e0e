import { ConnectorError } from '../../src/errors.ts';
import { type ResponseTime, responseTime } from '../../src/sources/stream/response-time.ts';
import { type CoreModules, type LapMistake, MODEL_POLL_MS, MODEL_SETTINGS, REAL_CORE } from './model-core.ts';
import { ModelLog } from './model-log.ts';
import { logViolations, universeViolations } from './model-oracle.ts';
import { type Fate, ModelProcess, type Pending } from './model-process.ts';
import { ModelProvider } from './model-provider.ts';
import type { ModelSurroundings } from './model-surroundings.ts';
import type { Command, Scenario } from './scenario.ts';

const WALL_MS = 1_700_000_000_000;
const MOST_STEPS = 3_000;
/** What stops the source until an operator starts it again. */
const STOPPING: ReadonlySet<string> = new Set(['RETENTION_GAPS_REPEAT', 'WALK_CURSOR_REPEATED']);
const DAY_MS = 86_400_000;

/** One run: the scenario, then quiet, then a last walk. The same scenario gives the same run. */
export function runScenario(scenario: Scenario, modules: CoreModules = REAL_CORE, mistake: LapMistake | null = null) {
  const world = new World(scenario, modules, mistake);
  const violations: string[] = [];
  try {
    for (const command of scenario.commands) world.run(command);
    violations.push(...world.settle());
  } catch (error) {
    violations.push(`it threw ${error instanceof Error ? error.message : String(error)}`);
  }
  violations.unshift(...logViolations(world.log, world.provider.ledger), ...world.found);
  return { violations, log: world.log, provider: world.provider };
}

class World {
  readonly provider: ModelProvider;
  readonly log = new ModelLog();
  readonly found: string[] = [];
  readonly #around: ModelSurroundings;
  #process: ModelProcess;
  #date: 'true' | 'ahead' | 'behind' | 'absent' = 'true';
  #fate: Fate = 'committed';
  /** Whether rows and events alone must have brought everything, without another walk. */
  #isClean: boolean;
  #isStopped = false;
  #wasDateWrong = false;
  #demands = 0;
  /** Until the process has looked at the id of a topic that was replaced. */
  #stepsToNotice = Number.POSITIVE_INFINITY;

  constructor(scenario: Scenario, modules: CoreModules, mistake: LapMistake | null) {
    this.provider = new ModelProvider(scenario.traits);
    // What a list does not show yet when the stream begins, the next walk brings.
    this.#isClean = scenario.traits.listLagMs <= MODEL_SETTINGS.handoffMarginMs;
    const { provider, log } = this;
    const truth = { verifiedMs: 0, streamAnsweredMs: 0, isDateTrue: true, truncated: null, listLags: !this.#isClean };
    if (scenario.commands.some(({ kind }) => kind === 'failOver')) truth.listLags = true;
    this.#around = {
      modules,
      mistake,
      provider,
      log,
      truth,
      nowMs: 10_000,
      prefetch: scenario.prefetch,
      listSteps: scenario.listSteps ?? 0,
      pollMs: scenario.pollMs ?? MODEL_POLL_MS,
      found: this.found,
      date: () => this.#takeDate(),
    };
    this.#process = new ModelProcess(this.#around);
    this.#process.open();
  }

  run(command: Command): void {
    const { provider } = this;
    const around = this.#around;
    switch (command.kind) {
      case 'mutate':
        this.#mutate(command);
        return;
      case 'step':
        for (let n = 0; n < command.times; n++) this.#step();
        return;
      case 'crash':
        this.#fate = command.fate;
        return;
      case 'restart':
        this.#restart();
        return;
      case 'zombie':
        this.#zombie(command.steps);
        return;
      case 'pass':
        around.nowMs += command.ms;
        return;
      case 'run': {
        const untilMs = around.nowMs + command.days * DAY_MS;
        for (let n = 0; n < MOST_STEPS && around.nowMs < untilMs; n++) this.#step();
        return;
      }
      case 'expire':
        this.#process.crash();
        around.nowMs += command.days * DAY_MS;
        if (command.days >= 6) this.#isClean = false;
        return;
      case 'truncate':
        this.#isClean = false;
        provider.truncation = command.how === 'mend' ? null : { kind: command.how, keptIds: command.kept };
        return;
      case 'fault':
        if (command.fault === 'unreadableId' || command.fault === 'empty') this.#isClean = false;
        provider.faults[command.on].push(command.fault);
        return;
      case 'date':
        if (command.date !== 'absent') this.#wasDateWrong = true;
        around.truth.isDateTrue = !this.#wasDateWrong;
        this.#date = command.date;
        return;
      case 'reset':
        if (provider.ledger.starts.length === 1) provider.reset(around.nowMs);
        this.#isClean = false;
        return;
      case 'replaceTopic':
        this.log.replaceTopic();
        this.#stepsToNotice = command.steps;
        return;
      case 'failOver': {
        const { kind: _, ms, ...how } = command;
        provider.failOver({ ...how, fromMs: around.nowMs + 1, untilMs: around.nowMs + 1 + ms });
        this.#isClean = false;
        return;
      }
      case 'demand':
        this.#process.core?.requestWalk({ id: `walk-${++this.#demands}`, allowShrink: command.allowShrink });
        return;
    }
  }

  /** Faults stop: everything must come right, first by itself and then, at the latest, by the next walk. */
  settle(): string[] {
    const { provider } = this;
    const around = this.#around;
    provider.truncation = null;
    provider.failBack(around.nowMs + 1);
    provider.faults.events.length = 0;
    provider.faults.list.length = 0;
    this.#date = 'true';
    this.#fate = 'committed';
    if (this.#stepsToNotice < Number.POSITIVE_INFINITY) this.#stepsToNotice = 0;
    // A source that has stopped is started again by an operator, the next day.
    if (this.#isStopped) around.nowMs += DAY_MS + 1;
    this.#isStopped = false;
    if (this.#process.core === null) this.#process.open();
    const rival = around.mistake === 'opensWithoutProof' ? this.#rival() : null;
    if (!this.#stepUntilQuiet(rival)) return ['I8: it does not come to rest'];
    const found = this.#isClean ? this.#compare('without another walk') : [];

    around.nowMs += DAY_MS;
    this.#process.core?.requestWalk({ id: 'last', allowShrink: 1_000 });
    if (!this.#stepUntilQuiet(rival)) return [...found, 'I8: it does not come to rest after a last walk'];
    return [...found, ...this.#compare('after a last walk')];
  }

  #compare(when: string): string[] {
    return universeViolations(this.log.instruments(), this.provider.ledger, this.#around.nowMs).map(
      (violation) => `${violation} ${when}`,
    );
  }

  #stepUntilQuiet(rival: ModelProcess | null): boolean {
    for (let n = 0; n < MOST_STEPS; n++) {
      const before = this.#around.nowMs;
      this.#step();
      if (rival !== null) this.#stepOf(rival);
      const core = this.#process.core;
      if (core === null) this.#restart();
      const isWaiting = this.#around.nowMs - before > this.#around.pollMs / 2;
      const isSuspecting = (core?.offset?.gapSuspectedFromMs ?? null) !== null;
      const isCaughtUp = this.provider.isAtEnd(core?.offset?.since ?? '');
      if (core?.phase === 'idle' && isWaiting && !isSuspecting && isCaughtUp) return true;
    }
    return false;
  }

  #step(): void {
    if (this.#isStopped) return;
    if (this.#stepsToNotice-- === 0) this.#restart();
    if (!this.#stepOf(this.#process) && this.#around.mistake === 'opensWithoutProof') this.#process.open();
  }

  /** One request, and the commit that follows from it. */
  #stepOf(process: ModelProcess): boolean {
    try {
      const pending = process.ask();
      if (pending === null) return true;
      const isOpen = process.commit(pending, process === this.#process ? this.#takeFate() : 'committed');
      if (!isOpen && process !== this.#process) process.open();
      return isOpen;
    } catch (error) {
      if (!(error instanceof ConnectorError) || !STOPPING.has(error.code)) throw error;
      this.#isStopped = true;
      process.crash();
      return true;
    }
  }

  #restart(): void {
    if (this.#isStopped) return;
    this.#process.crash();
    this.#process = new ModelProcess(this.#around);
    this.#process.open();
  }

  /** Another process that was asked to give up the partition, and opens its writer again all the same. */
  #rival(): ModelProcess {
    const rival = new ModelProcess(this.#around);
    rival.open();
    return rival;
  }

  /** The process stalls before a commit; another takes over, and in the middle of that the first one goes on. */
  #zombie(steps: number): void {
    const zombie = this.#process;
    let pending: Pending | null = null;
    for (let n = 0; n < steps && pending === null && zombie.core !== null && !this.#isStopped; n++) {
      pending = zombie.ask();
    }
    this.#process = new ModelProcess(this.#around);
    if (this.#isStopped) return;
    this.#process.open(() => {
      if (pending !== null) zombie.commit(pending, 'committed');
    });
  }

  #mutate({ what, id, times }: Extract<Command, { kind: 'mutate' }>): void {
    const { provider } = this;
    for (let n = 0; n < times; n++) {
      const atMs = ++this.#around.nowMs;
      const target = BigInt(id + n);
      if (what !== 'change' && what !== 'hidden') this.#isClean = false;
      if (what === 'change' || what === 'dead') provider.change(target, atMs, what === 'dead');
      else if (what === 'hidden' || what === 'unreadable') provider.publishOther(what, atMs);
      else provider.vanish(target, atMs, what === 'announcedVanish');
    }
  }

  #takeFate(): Fate {
    const fate = this.#fate;
    this.#fate = 'committed';
    return fate;
  }

  #takeDate(): ResponseTime {
    const date = this.#date;
    this.#date = 'true';
    const skewMs = date === 'ahead' ? 8 * DAY_MS : date === 'behind' ? -8 * DAY_MS : 0;
    const ownMs = WALL_MS + this.#around.nowMs;
    return responseTime(date === 'absent' ? null : ownMs + skewMs, ownMs);
  }
}
