import { Argument, Command, CommanderError, Option } from 'commander';
import { DEFAULT_SETTINGS_FILE, settingsFile } from '../../config/load.ts';
import { INTERVALS, PRICE_FIELDS } from '../../config/price-kinds/parameters.ts';
import { ConnectorError } from '../../errors.ts';
import { createRedaction } from '../../observe/redaction.ts';
import { projectVersion } from '../../support/version.ts';
import { PRICE_PROCESSOR } from '../../worker/target.ts';
import { describeError } from './describe-error.ts';
import {
  baseAddress,
  durationOption,
  limitOption,
  pastTimeMs,
  pathPart,
  portNumber,
  ratePerSecond,
  someText,
  wholeNumberOption,
} from './option-values.ts';
import { type CommandContext, EXIT_CODES, type Terminal } from './terminal.ts';

/** The work of a command. Receives the options, then the arguments in the order of the command line. */
type Work = (context: CommandContext, options: never, ...given: never[]) => Promise<void>;

interface Definition {
  readonly description: string;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Replaces the usual `--output` and `--config`. */
  readonly common?: readonly Option[];
  readonly help?: string;
  readonly examples: readonly string[];
  /** Loads the code of this command when the command runs, so that a usage error is shown quickly. */
  readonly load: () => Promise<Work>;
}

const CONFIG = new Option('--config <file>', 'the settings file; SPCONNECT_CONFIG names another default').default(
  DEFAULT_SETTINGS_FILE,
);
const OUTPUT = new Option('--output <form>', 'the format of stdout').choices(['text', 'json']).default('text');
const EXECUTE = flag('--execute', 'make the change; without this option, only show the change');
const SHOW_URLS = flag('--show-url', 'print the simulation URLs of pre-trade checks: anyone with such a URL can trade');
const SOURCE = new Argument('<source>', 'the name of a source');
const INSTRUMENTS_SOURCE = new Argument('<source>', 'the name of an instruments source');

function flag(flags: string, description: string): Option {
  return new Option(flags, description).default(false);
}

function value(flags: string, description: string, parse?: (text: string) => unknown, usual?: unknown): Option {
  const option = new Option(flags, description).default(usual);
  return parse === undefined ? option : option.argParser(parse);
}

const settle = (when = '') =>
  value(
    '--settle <duration>',
    `${when}the longest time for a change to reach the topic, like 30s; by default from the settings`,
    durationOption,
  );

/** Commands that request a state of a source differ only in their texts. */
function stateCommand(name: 'pause' | 'resume' | 'stop' | 'restart', description: string, help: string): Definition {
  return {
    description,
    arguments: [new Argument('<source>', `the name of a source, or ${PRICE_PROCESSOR} for the price processor`)],
    help: `${help}\nThe connector may be stopped: then the request takes effect at its next start.`,
    examples: [`${name} instruments`],
    load: async () => {
      const { stateCommand } = await import('../state-command.ts');
      return (context, _options, source) => stateCommand(context, name, source);
    },
  };
}

const GROUPS: Readonly<Record<string, string>> = {
  config: 'Show the settings.',
  topics: 'Create or verify the topics of the settings.',
  schemas: 'List or register the schemas.',
  offsets: 'List, set, skip or reset the committed offsets of the sources.',
  'dead-letters': 'Show or retry inputs that could not become records.',
  lookup: 'Print one price or one pre-trade check from the provider.',
};

const COMMANDS: Readonly<Record<string, Definition>> = {
  run: {
    description: 'Run the sources and the price processor of the settings until SIGTERM or SIGINT.',
    options: [
      new Option('--roles <roles>', 'the work of this process')
        .choices(['sources', 'processor', 'both'])
        .default('both'),
    ],
    common: [CONFIG],
    examples: ['run --config config/connector.yaml'],
    load: async () => (await import('../run-command.ts')).runCommand,
  },
  validate: {
    description: 'Check the settings; with --connect, also the provider, Kafka, its topics and the registry.',
    options: [flag('--connect', 'also connect to the services that the settings name; changes nothing')],
    examples: ['validate', 'validate --connect --output json'],
    load: async () => (await import('../validate-command.ts')).validateCommand,
  },
  doctor: {
    description:
      'Check how the provider behaves where its documentation says nothing, and compare this with our assumptions.',
    help: 'It only reads: fewer than 30 requests, within requestsPerSecond. The exit code is 1 when something differs.',
    examples: ['doctor'],
    load: async () => (await import('../doctor-command.ts')).doctorCommand,
  },
  'config print': {
    description:
      'Print the effective settings in the form of the settings file, each with the origin of its value; no secrets.',
    examples: ['config print --output json'],
    load: async () => (await import('../config-command.ts')).configPrint,
  },
  'topics verify': {
    description: 'Compare the topics with what the connector needs, and say how to correct differences.',
    help: 'A harmless difference is not an error.',
    examples: ['topics verify'],
    load: async () => (await import('../topics-command.ts')).topicsVerify,
  },
  'topics create': {
    description: 'Create the missing topics; existing topics are compared and never changed.',
    examples: ['topics create --output json'],
    load: async () => (await import('../topics-command.ts')).topicsCreate,
  },
  'schemas list': {
    description:
      'List the subjects of the settings: their versions and ids, and whether the registry has or would accept our schema.',
    help: 'It registers nothing. The exit code is 1 when the registry would refuse a schema.',
    examples: ['schemas list'],
    load: async () => (await import('../schemas-command.ts')).schemasList,
  },
  'schemas register': {
    description: 'Register our schemas, with compatibility FULL_TRANSITIVE.',
    examples: ['schemas register'],
    load: async () => (await import('../schemas-command.ts')).schemasRegister,
  },
  status: {
    description: 'Show the state of a running connector: its sources, their progress, its problems.',
    options: [
      value('--url <url>', 'the base URL of its admin server; without it, from the settings file', baseAddress),
      flag('--watch', 'show the status again every two seconds, until Ctrl-C'),
    ],
    help: `The first line of stdout says if the connector is ready. The exit code is 0 when the connector is ready, and 1
when it is not ready or cannot be reached.
--watch continues until it is stopped, also while the connector restarts.`,
    examples: ['status --url http://127.0.0.1:8083', 'status --watch'],
    load: async () => (await import('../status-command.ts')).statusCommand,
  },
  pause: stateCommand(
    'pause',
    'Pause a source: it keeps its position and sends no requests to the provider.',
    'Its walk and its position in the stream are kept. The provider keeps events for seven days only. It stays paused after restarts of the connector.',
  ),
  resume: stateCommand(
    'resume',
    'Resume a paused or stopped source.',
    'A paused source continues from its position, a stopped source from its committed offset.',
  ),
  stop: stateCommand(
    'stop',
    'Stop the task of a source; its offset can be changed after that.',
    'The other sources continue. It stays stopped after restarts of the connector; resume starts it from its committed offset.',
  ),
  restart: stateCommand(
    'restart',
    'Restart a failed or running source from its committed offset.',
    'Nothing is lost or written twice. A stopped source stays stopped: resume starts it.',
  ),
  walk: {
    description: 'Request a walk: the source reads its complete list now and writes what differs.',
    arguments: [INSTRUMENTS_SOURCE],
    options: [
      value('--allow-shrink <count>', 'this walk may delete this number, even if maxShrink allows fewer', limitOption),
      flag('--dry-run', 'only show what a walk would write and delete; request nothing'),
      value(
        '--ids <count>',
        'with --dry-run: show at most this many ids of each kind (default: 10)',
        wholeNumberOption,
      ),
      settle('with --dry-run: '),
    ],
    help: `A walk that would delete too many instruments deletes none, and writes a notification with the number.
Ask the provider if its list is right. If so, allow this number for one walk with --allow-shrink. --dry-run reads the
list and the topic, and writes nothing. Like a walk, it does not count instruments that the stream changes meanwhile.`,
    examples: ['walk instruments --allow-shrink 1200', 'walk instruments --dry-run'],
    load: async () => (await import('../walk-command.ts')).walkCommand,
  },
  tail: {
    description: 'Print the decoded records of a topic as they are committed.',
    arguments: [new Argument('<topic>', 'a topic of the settings, with or without the prefix, like instruments')],
    options: [
      flag('--from-beginning', 'also print the existing records'),
      flag('--until-end', 'print the existing records, then end'),
      value('--key <key>', 'only records with this key'),
      value('--limit <count>', 'end after this many records', limitOption),
      SHOW_URLS,
    ],
    help: `Decimals and 64-bit integers are printed exactly. Records that compaction has removed are not printed. With
--output json each record is one line, with its headers.`,
    examples: ['tail instruments --from-beginning --limit 3', 'tail notifications --until-end --output json'],
    load: async () => (await import('../tail-command.ts')).tailCommand,
  },
  preview: {
    description: 'Read one page from the provider and print its records; needs no Kafka.',
    arguments: [SOURCE],
    options: [
      value(
        '--from <cursor>',
        'an id of the list, or an offset of the stream; without it, the first page, or for a source of type events the end',
        someText,
      ),
      value('--limit <count>', 'rows, events or checks at most', limitOption, 10),
      SHOW_URLS,
    ],
    help: 'An input that would become a dead letter is printed as a dead letter, with its reason. With --output json each record is one line.',
    examples: ['preview instruments --limit 2'],
    load: async () => (await import('../preview-command.ts')).previewCommand,
  },
  audit: {
    description: "Compare the instruments topic with the provider's list, field by field; changes nothing.",
    arguments: [new Argument('[source]', 'the name of an instruments source; without it, all of them')],
    options: [settle()],
    help: `Rows that differ are compared again after --settle, because the provider may change its list meanwhile. The
exit code is 1 when the topic differs (a walk corrects the topic), when the list goes on after its end or has a row
without a readable id, and when a walk would stop the source. Rows that cannot be mapped, and instruments that change
during the audit, are only counted. An instrument that left the list does not count as a difference in three cases: the
next walk can delete it, an event of the last 90 minutes names it, or the source has tombstones: false.`,
    examples: ['audit instruments'],
    load: async () => (await import('../audit-command.ts')).auditCommand,
  },
  backfill: {
    description: 'Write the past of daily or intraday prices to their topic, exactly once; can be resumed.',
    arguments: [new Argument('<kind>', 'which prices').choices(['daily', 'intraday'])],
    options: [
      value('--from <when>', 'the first day; for intraday prices, the first instant in UTC; required'),
      value('--to <when>', 'the last day; for intraday prices, the end of the range in UTC; required'),
      value('--isin <isin...>', 'only these products; by default, all products whose prices are followed'),
      value('--isin-file <file>', 'only the products of this file, an ISIN in each line'),
      value('--rate <requests>', 'requests per second; by default, half of marketData.requestsPerSecond', Number),
    ],
    help: `The series are those of the settings (prices.kinds). After an interruption, run the same command again: it
continues where it stopped, as long as the broker keeps the offsets of a group without members (seven days by default).
If products came or left since the earlier run, it also requests those that have neither a window nor a dead letter of
this request. A second backfill of the same kind ends the first.
A command with another range, other products or other series writes all its windows, also windows that are on the topic.
If the price processor follows this kind, the range must end an hour before its lookBack. A later --to is refused, and
nothing is written. The message names the latest --to. A running connector sends its requests in addition to --rate. In
steady operation, the default of --rate keeps both together within the limit.
The exit code is 1 when a product is on no topic of instruments, a record of this topic cannot be read, or a request for
a product failed in this run or an earlier run of the same command. A product without prices at the provider (404, 410, null), such as a repaid product, is not a failure. The
messages name up to 30 of these ISINs, and the dead letters name all.`,
    examples: [
      'backfill daily --from 2026-01-01 --to 2026-03-31',
      'backfill intraday --from 2026-03-30T06:00:00Z --to 2026-03-30T18:00:00Z --isin CH0012032048',
    ],
    load: async () => (await import('../backfill-command.ts')).backfillCommand,
  },
  'offsets list': {
    description: 'Show the committed offset of every source: its place in the stream, and its walks.',
    help: `The provider may delete events earlier than the table shows: see spconnect status. --output json prints all members of
each offset.`,
    examples: ['offsets list --output json'],
    load: async () => (await import('../offsets-command.ts')).offsetsList,
  },
  'offsets reset': {
    description: 'Delete the committed offset of a source, so that it starts like a new source.',
    arguments: [SOURCE],
    options: [EXECUTE],
    help: 'Stop the source first (spconnect stop), and resume it afterwards. Keep the output: --output json has the whole offset.',
    examples: ['offsets reset instruments'],
    load: async () => (await import('../offsets-command.ts')).offsetsReset,
  },
  'offsets set': {
    description: 'Set the stream of a source to another offset, or to its position at a given time.',
    arguments: [SOURCE],
    options: [
      value('--since <offset>', 'an offset of the provider'),
      value('--to <time>', 'a time like 2026-03-31T12:00:00Z, or how long ago, like 6h', pastTimeMs).conflicts('since'),
      EXECUTE,
    ],
    help: `Events that were already written are written again to the events topic, but they do not change their instruments.
Events that are skipped are missing on the events topic. Walks follow and correct the instruments. A place more than
seven days old is refused, and so is an offset that no record has and that is not before all that was read. Stop the source first (spconnect stop), and resume it afterwards.`,
    examples: ['offsets set instruments --to 6h'],
    load: async () => (await import('../offsets-command.ts')).offsetsSet,
  },
  'offsets skip': {
    description: 'Skip a position of the stream whose response can never be read.',
    arguments: [
      new Argument('<source>', 'the name of a source that repeats an error of the response, such as BODY_MALFORMED'),
    ],
    options: [
      value(
        '--to <offset>',
        'an offset of the provider to continue from, or "newest"; default: after the unreadable responses',
      ),
      EXECUTE,
    ],
    help: `The position is requested again first, one event at a time: if it can be read, nothing is skipped. Otherwise the source
continues directly after the events that cannot be read. Usually the unreadable responses name the next offset. If they
do not, ask the provider for this offset and pass it with --to. --to newest continues at the newest offset of the
stream; all events before it are lost. A notification (stream-skipped) names the offsets of the lost part. Walks follow
and correct the instruments. Stop the source first (spconnect stop), and resume it afterwards.`,
    examples: ['offsets skip instruments'],
    load: async () => (await import('../offsets-command.ts')).offsetsSkip,
  },
  'dead-letters list': {
    description: 'List the dead letters: id, time, source, key, topic, place of the problem, reason.',
    options: [
      value('--source <source>', 'only dead letters of this source'),
      value(
        '--since <time>',
        'only dead letters since a time, like 2026-03-31T12:00:00Z, or of the last duration, like 6h',
        pastTimeMs,
      ),
      value('--limit <count>', 'the newest, at most this many', limitOption, 50),
    ],
    help: `A repaid product becomes a dead letter of the source prices, if the provider has no price of it any more. A retry
without --execute shows which dead letters were written already.`,
    examples: ['dead-letters list --source instruments --since 7d'],
    load: async () => (await import('../dead-letters-command.ts')).deadLettersList,
  },
  'dead-letters show': {
    description: 'Print one dead letter: its headers and the input as it was received.',
    arguments: [new Argument('<id>', 'an id of dead-letters list')],
    help: 'A dead letter of a pre-trade check has no input, because a check allows trading.',
    examples: ['dead-letters show 0'],
    load: async () => (await import('../dead-letters-command.ts')).deadLettersShow,
  },
  'dead-letters retry': {
    description: 'Write events and pre-trade checks that were dead letters, and request a walk for instruments.',
    arguments: [new Argument('<id...>', 'ids of dead-letters list')],
    options: [EXECUTE],
    help: `An event is decoded again with the current schemas and settings. It is written once, after the events that were
written meanwhile. A walk reads the newest state of the instrument of the event, or of the row of the list. For
this, a running connector must have settings that can map the instrument. A dead letter of a pre-trade check has no
input, so the check is requested again from the provider, by its id. A price needs no retry: the running connector
requests it again. A price of a backfill is requested again by the command that spconnect backfill names. The exit code is 1 when a
retry is impossible.`,
    examples: ['dead-letters retry 0'],
    load: async () => (await import('../dead-letters-command.ts')).deadLettersRetry,
  },
  'lookup price': {
    description: 'Print prices of one product, with the digits that the provider sent.',
    arguments: [new Argument('<isin>', 'the isin of the product').argParser(pathPart('the isin of a product'))],
    options: [
      new Option('--kind <kind>', 'which prices').choices(['overview', 'daily', 'intraday']).default('overview'),
      value(
        '--fields <names>',
        "the fields; for an overview, several with commas between them; without it, the provider's default fields",
      ),
      value('--from <when>', 'the first day, or the first instant with its zone'),
      value('--to <when>', 'the last day or instant'),
      new Option('--interval <length>', 'the length of a window').choices(INTERVALS),
    ],
    help: `Fields:
  overview: some of ${PRICE_FIELDS.overview.join(', ')}
  daily: one of ${PRICE_FIELDS.daily.join(', ')}
  intraday: one of ${PRICE_FIELDS.intraday.join(', ')}`,
    examples: [
      'lookup price CH0012032048',
      'lookup price CH0012032048 --kind daily --fields OHLC --from 2026-01-01 --output json',
    ],
    load: async () => (await import('../lookup-command.ts')).lookupPrice,
  },
  'lookup check': {
    description: 'Print one pre-trade check. Its URL allows trading: it is printed only with --show-url.',
    arguments: [
      new Argument('<id>', 'the id of the check, as the platform shows it').argParser(
        pathPart('the id of a pre-trade check'),
      ),
    ],
    options: [flag('--show-url', 'print the simulation URL too')],
    examples: ['lookup check PTC-0123456789 --output json'],
    load: async () => (await import('../lookup-command.ts')).lookupCheck,
  },
  demo: {
    description: 'Start Kafka, a schema registry and a simulated provider, and run the connector with them.',
    options: [
      flag('--once', 'end when the walk is done and all instruments are priced'),
      value('--instruments <count>', 'instruments that the provider has', wholeNumberOption, 5_000),
    ],
    common: [],
    examples: ['demo --instruments 20000'],
    load: async () => (await import('../../dev/demo/dev-commands.ts')).demoCommand,
  },
  simulate: {
    description: 'Serve a simulated provider: both interfaces, a token endpoint and a control path.',
    options: [
      value('--host <address>', 'address to listen on; 0.0.0.0 for every network', undefined, '127.0.0.1'),
      value('--port <number>', 'port to listen on; 0 for any free port', portNumber, 8090),
      value('--instruments <count>', 'instruments in the universe', wholeNumberOption, 5_000),
      value('--seed <number>', 'the same seed gives the same universe', wholeNumberOption, 1),
      value('--changes <rate>', 'changes of the universe per second', ratePerSecond, 0),
    ],
    common: [OUTPUT],
    examples: ['simulate --instruments 50000 --changes 20'],
    load: async () => (await import('../../dev/demo/dev-commands.ts')).simulateCommand,
  },
};

const HELP = `
Examples:
  spconnect validate --connect
  spconnect run
  spconnect status
  spconnect tail notifications --from-beginning

Each command has --help with examples. Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed
or found a problem, 2 wrong arguments or settings.
`;

type ProgramContext = Pick<CommandContext, keyof Terminal | 'redaction' | 'exitWith'>;

/** The program with all commands, their arguments, options and help. Exported for tests. */
export function createProgram(context: ProgramContext): Command {
  const program = new Command('spconnect')
    .description("Puts a structured-products provider's reference data and prices on Kafka, exactly once.")
    .version(projectVersion(), '--version')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  for (const [path, definition] of Object.entries(COMMANDS)) {
    const [name = '', inner] = path.split(' ');
    const known = program.commands.find((command) => command.name() === name);
    const command = known ?? program.command(name);
    if (inner !== undefined && known === undefined) {
      command.description(GROUPS[name] ?? '').addHelpText('after', examplesText(definition.examples));
    }
    addCommand(inner === undefined ? command : command.command(inner), definition, context);
  }
  hintAtUsage(program);
  return program;
}

function addCommand(command: Command, definition: Definition, context: ProgramContext): void {
  const { description, help, examples, load } = definition;
  const { arguments: given = [], options = [], common = [OUTPUT, CONFIG] } = definition;
  command.description(description);
  for (const argument of given) command.addArgument(argument);
  for (const option of [...options, ...common]) command.addOption(option);
  command.addHelpText('after', `${help === undefined ? '' : `\n${help}\n`}${examplesText(examples)}`);
  const refuse = (text: string) => command.error(`error: ${text}`, { exitCode: EXIT_CODES.usage });
  command.action(async (...all: unknown[]) => {
    const work = await load();
    const chosen = command.opts();
    const { config, output = 'text' } = chosen;
    await work({ ...context, config, output, refuse }, chosen as never, ...(all.slice(0, -2) as never[]));
  });
}

function examplesText(examples: readonly string[]): string {
  return `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((one) => `  spconnect ${one}\n`).join('')}`;
}

function hintAtUsage(command: Command): void {
  const usage = command.createHelp().commandUsage(command);
  const names = command.commands.map((inner) => inner.name()).join(', ');
  const path = usage.replace(/ [[<].*/, '');
  const commands = names === '' ? '' : `\nCommands: ${names}`;
  command.showHelpAfterError(`Usage: ${usage}${commands}\nMore: ${path} --help, or src/commands/README.md`);
  for (const inner of command.commands) hintAtUsage(inner);
}

/** Commands that run until they are stopped; a stop counts as success. */
const ENDLESS = ['run', 'tail', 'demo', 'simulate'];

/** Turns `--config <file> status` into `status --config <file>`. */
function optionsLast(given: readonly string[]): readonly string[] {
  let at = 0;
  for (let word = given[0]; word && /^--(config|output)(=|$)/.test(word); word = given[at])
    at += word.includes('=') ? 1 : 2;
  return at < given.length ? [...given.slice(at), ...given.slice(0, at)] : given;
}

/** Parses the arguments, runs the command, and turns every outcome into an exit code. Never throws. */
export async function runCommandLine(terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const redaction = createRedaction();
  const exitWith = (code: number) => {
    exitCode = code;
  };
  let isEndless = false;
  let config = '';
  const program = createProgram({ ...terminal, exitWith, redaction });
  program.hook('preAction', async (all, chosen) => {
    if (chosen.opts().config !== undefined) {
      const given = chosen.getOptionValueSource('config') === 'default' ? undefined : chosen.opts().config;
      config = settingsFile(given, terminal.env);
      chosen.setOptionValue('config', config);
      await (await import('../command-settings.ts')).omitUnused({ config, env: terminal.env, redaction });
    }
    const { untilEnd, once } = chosen.opts();
    isEndless = chosen.parent === all && ENDLESS.includes(chosen.name()) && !untilEnd && !once;
  });
  try {
    await program.parseAsync(optionsLast(terminal.arguments), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    if (terminal.signal.aborted && error === terminal.signal.reason) {
      // If the error has no cause, no signal interrupted the command: the reader of stdout has closed the pipe.
      if (isEndless || !(error instanceof Error) || error.cause === undefined) return EXIT_CODES.ok;
      terminal.stderr.write(`${error.cause} ended the command before it was done: its result is not known.\n`);
      return EXIT_CODES.interrupted;
    }
    const { withOrigins } = await import('../command-settings.ts');
    terminal.stderr.write(await withOrigins({ config, env: terminal.env }, describeError(error, redaction)));
    const isUsage = error instanceof ConnectorError && error.code === 'SETTINGS_INVALID';
    return isUsage ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}
