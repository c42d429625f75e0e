import type { Settings, SourceSettingsOf } from '../../config/settings.ts';
import { ConnectorError } from '../../errors.ts';
import { createMarketDataHttp, createReferenceDataHttp } from '../../setup/provider-client.ts';
import { systemClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { systemRandom } from '../../support/system-random.ts';
import { unregisteredInstruments } from '../unregistered-provider.ts';
import { type Finding, finding } from './finding.ts';
import { probeList } from './list-probes.ts';
import { probeChecks, probeMarketData } from './other-probes.ts';
import { probeLag, probeStream } from './stream-probes.ts';

/** The version of the interface's description that this is written against. */
const INTERFACE_VERSION = '1.13.62';
/** With the row before it, whether the provider's cursor includes the row that it names or not. */
const NEIGHBOURS = 2;
/** Instruments of which prices are asked for. */
const PRICED = 20;

/**
 * Finds out what the interface does not show: reads only, fewer than 40 requests, within the rate limit of the settings.
 *
 * @throws ConnectorError SETTINGS_INVALID when no source reads instruments or events; and what the provider's client throws
 *   when not even a first page can be had.
 */
export async function examineProvider(settings: Settings, signal: AbortSignal): Promise<readonly Finding[]> {
  const source = settings.sources.find((one) => one.type !== 'pre-trade-checks');
  if (source === undefined) {
    throw new ConnectorError('SETTINGS_INVALID', 'No source of the settings reads instruments or events.');
  }
  const deps = { clock: systemClock, random: systemRandom, log: silentLog };
  const http = await createReferenceDataHttp(settings.referenceData, deps);
  try {
    const { referenceData, provider } = unregisteredInstruments({ settings, http }, source, NEIGHBOURS);
    const limit = source.type === 'instruments' ? source.limit : 1;
    const list = await probeList(referenceData, limit, { clock: systemClock, signal });
    const findings = [...list.findings];
    if (list.streamStart !== null) {
      const probed = { referenceData, provider, maxEvents: source.maxEvents, clock: systemClock, signal };
      findings.push(...(await probeStream(probed, list.streamStart)));
      const marginMs = source.type === 'instruments' ? source.handoffMarginMs : 0;
      findings.push(await probeLag(probed, list.streamStart, marginMs));
    }
    if (list.ids.length > 0) {
      findings.push(await probeChecks(http, settings.referenceData.url, signal));
      findings.push(...(await priceFindings(settings, source, signal)));
    }
    const version = 'not given by the interface';
    return [...findings, finding('version', version, `${INTERFACE_VERSION} of market data`, null)];
  } finally {
    await http.close();
  }

  async function priceFindings(
    { marketData }: Settings,
    of: SourceSettingsOf<'instruments' | 'events'>,
    stop: AbortSignal,
  ): Promise<readonly Finding[]> {
    if (marketData === null) return [];
    const { provider } = unregisteredInstruments({ settings, http }, of, PRICED);
    const page = await provider.page(null, stop);
    const isins = page.decoded.rows.flatMap((row) => (row.kind === 'record' && row.isin !== null ? [row.isin] : []));
    const market = await createMarketDataHttp(marketData, deps);
    try {
      return await probeMarketData(market, [...new Set(isins)], settings, stop);
    } finally {
      await market.close();
    }
  }
}
