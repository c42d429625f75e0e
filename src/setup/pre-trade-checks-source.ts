import type { Source } from '../connector/offset-partition.ts';
import { followPreTradeChecks } from '../connector/tasks/pre-trade-check-stream.ts';
import { createPreTradeChecksTask } from '../connector/tasks/pre-trade-checks-task.ts';
import { createCheckDecoder } from '../decoding/check-decoder.ts';
import { createPreTradeChecks, NO_FILTER } from '../provider/pre-trade-checks.ts';
import { createFollowedSource, type FollowedSourceOptions, registeredDecoder } from './followed-source.ts';

/** A source of pre-trade checks from its settings: everything that its task needs, put together. */
export function createPreTradeChecksSource(options: FollowedSourceOptions): Source {
  const { settings, topics, http, clock } = options;
  const decoders = registeredDecoder(options, 'PreTradeCheck', createCheckDecoder);
  const preTradeChecks = createPreTradeChecks({ http, baseUrl: settings.referenceData.url });
  const stream = followPreTradeChecks({
    preTradeChecks,
    decoder: async (signal) => (await decoders(signal)).decoder,
    maxDeadLetters: settings.mapping.maxDeadLetters,
    clock,
  });
  return createFollowedSource(options, {
    filter: NO_FILTER,
    begins: 'withoutOffset',
    encoder: async (signal) => (await decoders(signal)).notifications,
    startTask: (common) =>
      createPreTradeChecksTask({
        ...common,
        stream,
        endpoint: preTradeChecks.endpoint,
        preTradeChecks: topics.target,
        deadLetters: topics.deadLetters,
      }),
  });
}
