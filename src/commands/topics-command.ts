import type { Settings } from '../config/settings.ts';
import { ConnectorError, ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { EnsureOptions } from '../kafka/topic.ts';
import { atInstallation } from '../run/installation.ts';
import { planSources } from '../run/planned-topics.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { loadWithoutProvider } from './command-settings.ts';
import { withoutControls } from './shell/describe-error.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

interface TopicFinding {
  readonly topic: string;
  /** `wrong`: the connector does not start; `differs`: the connector starts with a warning. */
  readonly state: 'ok' | 'created' | 'missing' | 'wrong' | 'differs';
  readonly problems: readonly string[];
  /** The operator's next step; empty if the connector starts. */
  readonly toDo: string;
}

const STATES: Readonly<Partial<Record<ErrorCode, TopicFinding['state']>>> = {
  TOPIC_MISSING: 'missing',
  TOPIC_NOT_CREATED: 'wrong',
  TOPIC_MISMATCH: 'wrong',
};

export const topicsVerify = (context: CommandContext) => eachTopic(context, { create: false });
export const topicsCreate = (context: CommandContext) => eachTopic(context, { create: true });

async function eachTopic(context: CommandContext, how: EnsureOptions): Promise<void> {
  const { stderr, signal, exitWith } = context;
  const settings = await loadWithoutProvider(context);
  const findings = await atInstallation({ settings, signal, needs: [] }, (at) => compareTopics(at, how));
  print(context, findings, textTable(findings.map(({ topic, state }) => [topic, state])));
  stderr.write(withoutControls(findings.flatMap(({ problems }) => problems.map((one) => `${one}\n`)).join('')));
  if (findings.some(({ state }) => state === 'created'))
    stderr.write('If a source or prices failed because a topic was missing: spconnect restart <source>, or prices.\n');
  if (findings.some(({ state }) => state === 'wrong' || state === 'missing')) exitWith(EXIT_CODES.failed);
}

/** Compares each topic separately, to report all differences. @throws KAFKA_UNREACHABLE, or the signal's reason. */
export async function compareTopics(
  at: { readonly settings: Settings; readonly kafka: KafkaCluster; readonly signal: AbortSignal },
  how: EnsureOptions,
): Promise<readonly TopicFinding[]> {
  const findings: TopicFinding[] = [];
  for (const specification of planSources(at.settings).topics) {
    const topic = specification.name;
    try {
      const report = await untilAborted(at.kafka.ensureTopics([specification], how), at.signal);
      const state = report.warnings.length > 0 ? 'differs' : report.created.includes(topic) ? 'created' : 'ok';
      findings.push({ topic, state, problems: report.warnings, toDo: '' });
    } catch (error) {
      const state = error instanceof ConnectorError ? STATES[error.code] : undefined;
      if (!(error instanceof ConnectorError) || state === undefined) throw error;
      findings.push({ topic, state, problems: [error.message], toDo: ERROR_CODES[error.code].remedy });
    }
  }
  return findings;
}
