import { type Command, Option } from 'commander';
import { epochDays } from '../../avro/calendar.ts';
import { parseInstant } from '../../avro/instant.ts';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { PriceQuery } from '../../config/price-kinds/all.ts';
import { ConnectorError } from '../../errors.ts';
import { toIndentedJson } from '../../json/json-text.ts';
import { isIsin } from '../../support/isin.ts';
import { silentLog } from '../../support/log.ts';
import type { CommandContext } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { type Output, outputOption, writtenJson } from '../output.ts';
import { pricesAsTable } from '../price-text.ts';
import { EXIT_CODES } from '../terminal.ts';
import { loadWithoutKafka } from './partial-settings.ts';

interface PriceOptions {
  readonly config: string;
  readonly kind: PriceQuery['kind'];
  readonly fields?: string;
  readonly from?: string;
  readonly to?: string;
  readonly count?: number;
  readonly ascending?: boolean;
  readonly interval?: string;
  readonly output: Output;
}

type QueryOption = Exclude<keyof PriceOptions, 'config' | 'kind' | 'output'>;

const SERIES = { fields: true, from: true, to: true } as const;
/** Which options a kind takes besides those that all have. */
const OPTIONS_OF: Readonly<Record<PriceQuery['kind'], Readonly<Partial<Record<QueryOption, true>>>>> = {
  overview: { fields: true },
  daily: { ...SERIES, count: true, ascending: true },
  intraday: { ...SERIES, interval: true },
};

/** `lookup price <isin>`: prices of one product, asked of the provider itself, numbers as it sent them. */
export function priceCommand(lookup: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
  const command = lookup
    .command('price')
    .description('Print prices of one product, with the digits that the provider sent.')
    .argument('<isin>', 'the isin of the product')
    .addOption(new Option('--kind <kind>', 'which prices').choices(Object.keys(OPTIONS_OF)).default('overview'))
    .option('--fields <names>', 'only these fields, as the interface names them; for an overview several, with commas')
    .option('--from <when>', 'the first day, or the first instant with its zone')
    .option('--to <when>', 'the last day or instant')
    .option('--count <number>', 'days at most', wholeNumberOption)
    .option('--ascending', 'the oldest day first')
    .option('--interval <length>', 'the length of a window: Minute_5 or Hour_1')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nExamples:\n  spconnect lookup price CH0012032048\n  spconnect lookup price CH0012032048 --kind daily --fields OHLC --from 2026-01-01 --output json\n',
    )
    .action(async (isin: string, options: PriceOptions) => {
      const { lookUpPrices } = await import('../../operator/price-lookup.ts');
      const query = queryOf(options, (text) => command.error(`error: ${text}`, { exitCode: EXIT_CODES.usage }));
      // Only the market data interface is asked.
      const usual = { ...env, REFERENCE_DATA_URL: env.REFERENCE_DATA_URL || 'https://localhost' };
      const settings = await loadWithoutKafka(options.config, { env: usual, redaction });
      if (settings.marketData === null) {
        throw new ConnectorError('SETTINGS_INVALID', 'marketData.url is not set: set it, or MARKET_DATA_URL.');
      }
      if (!isIsin(isin))
        stderr.write('This is not a valid ISIN (form or check digit); it is requested all the same.\n');
      const response = await lookUpPrices(settings.marketData, { isin, query }, { log: silentLog, signal });
      if (response === null) {
        stderr.write(`The provider answered with 404: it has no product with this isin, or ${TRY_URL}.\n`);
        exitWith(EXIT_CODES.failed);
        return;
      }
      stdout.write(options.output === 'json' ? writtenJson(toIndentedJson(response)) : pricesAsTable(response));
    });
}

const TRY_URL = 'marketData.url is wrong (spconnect validate --connect tries it)';

function queryOf(options: PriceOptions, refuse: (text: string) => never): PriceQuery {
  const { kind, fields = null, from: dateFrom = null, to: dateTo = null, interval = null, count = null } = options;
  const all = Object.keys({ ...OPTIONS_OF.daily, ...OPTIONS_OF.intraday }) as QueryOption[];
  const refused = all.find((name) => options[name] !== undefined && !OPTIONS_OF[kind][name]);
  if (refused !== undefined) refuse(`--${refused} cannot be used with --kind ${kind}.`);
  if (kind === 'overview') return { kind, fields: fields?.split(',') ?? [] };
  for (const when of [dateFrom, dateTo]) {
    if (when === null) continue;
    if (kind === 'daily' && epochDays(when) === null) refuse('--from and --to must be days, like 2026-01-31.');
    if (kind === 'intraday' && !isInstant(when)) refuse('--from and --to must be instants, like 2026-01-31T09:00:00Z.');
  }
  if (kind === 'intraday') return { kind, interval, dateFrom, dateTo, fields };
  return { kind, dateFrom, dateTo, fields, orderByAscending: options.ascending ?? null, count };
}

function isInstant(text: string): boolean {
  const instant = parseInstant(text, null);
  return instant !== null && instant !== 'noZone';
}
