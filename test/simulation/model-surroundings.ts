import type { ResponseTime } from '../../src/sources/stream/response-time.ts';
import type { CoreModules, LapMistake } from './model-core.ts';
import type { ModelLog } from './model-log.ts';
import type { ModelProvider } from './model-provider.ts';

/** What the processes of one run share. */
export interface ModelSurroundings {
  readonly modules: CoreModules;
  readonly mistake: LapMistake | null;
  readonly provider: ModelProvider;
  readonly log: ModelLog;
  nowMs: number;
  /** The date of an answer given now. */
  date(): ResponseTime;
  /** Whether the next page is fetched ahead. */
  prefetch: boolean;
  readonly listSteps: number;
  readonly pollMs: number;
  /** What a process did wrong that no transaction shows. */
  readonly found: string[];
  readonly truth: {
    verifiedMs: number;
    streamAnsweredMs: number;
    isDateTrue: boolean;
    truncated: 'soft' | 'hard' | null;
    listLags: boolean;
  };
}
