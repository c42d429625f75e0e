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
  /** `wrong`: the connector would not start; `differs`: it would, with a warning. */
  readonly state: 'ok' | 'created' | 'missing' | 'wrong' | 'differs';
  readonly problems: readonly string[];
  /** Empty where the connector would start. */
  readonly toDo: string;
}

const STATES: Readonly<Partial<Record<ErrorCode, TopicFinding['state']>>> = {
  TOPIC_MISSING: 'missing',
  TOPIC_NOT_CREATED: 'wrong',
  TOPIC_MISMATCH: 'wrong',
};

/** `topics verify`: every topic of the settings, compared with the brokers. */
export function topicsVerify(context: CommandContext): Promise<void> {
  return eachTopic(context, { create: false });
}

/** `topics create`: the same, and creates the missing ones. An existing topic is never altered. */
export function topicsCreate(context: CommandContext): Promise<void> {
  return eachTopic(context, { create: true });
}

async function eachTopic(context: CommandContext, how: EnsureOptions): Promise<void> {
  const { stderr, signal, exitWith } = context;
  const settings = await loadWithoutProvider(context);
  const findings = await atInstallation({ settings, signal, needs: [] }, (at) => compareTopics(at, how));
  print(context, findings, textTable(findings.map(({ topic, state }) => [topic, state])));
  stderr.write(withoutControls(findings.flatMap(({ problems }) => problems.map((one) => `${one}\n`)).join('')));
  if (findings.some(({ state }) => state === 'wrong' || state === 'missing')) exitWith(EXIT_CODES.failed);
}

/** Each topic by itself, so that all differences are reported. @throws KAFKA_UNREACHABLE, or the signal's reason. */
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
