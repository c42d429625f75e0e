import type { ProcessorScenario } from './processor-scenario.ts';
import { ProcessorWorld, REAL_PROCESSOR } from './processor-world.ts';

/** Plays a scenario to its rest; ends at the first step that breaks a rule. */
export function runProcessorScenario(scenario: ProcessorScenario, modules = REAL_PROCESSOR): ProcessorWorld {
  const { steps } = scenario;
  const world = new ProcessorWorld(modules, scenario);
  for (const step of steps) {
    world.do(step);
    if (world.violations.length > 0) return world;
  }
  world.rest();
  return world;
}
