import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunOptions, run } from './run.ts';

/** Not the name in the file: a user who runs that project here keeps its containers and its topics. */
const PROJECT = 'structured-products-connect-test';
const UP_LIMIT_MS = 1_800_000;
const COMMAND_LIMIT_MS = 180_000;
/** What the programs need; a variable of the shell that the compose file asks for must not change what is tried. */
const KEPT_VARIABLES = /^(PATH|HOME|TMPDIR|DOCKER_\w+|COMPOSE_BAKE|XDG_\w+)$/;

type Limits = Pick<RunOptions, 'limitMs' | 'signal'>;

export type ComposeProject = ReturnType<typeof openComposeProject>;

/**
 * The repository's own compose file, as a project of its own and without a `.env`.
 *
 * @param command the words that begin a compose command
 * @param signal ends a build or a start that is under way
 */
export function openComposeProject(root: string, command: readonly string[], signal: AbortSignal) {
  const [program = '', ...first] = command;
  const file = ['--project-name', PROJECT, '--env-file', '/dev/null', '--file', join(root, 'docker-compose.yml')];
  const profiles = (names: readonly string[]) => names.flatMap((name) => ['--profile', name]);
  const compose = (args: readonly string[], limits: Limits = {}) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT_VARIABLES.test(name)));
    return run(program, [...first, ...file, ...args], { cwd: root, env, limitMs: COMMAND_LIMIT_MS, ...limits });
  };
  const states = async () => {
    const text = await compose([...profiles(['*']), 'ps', '--all', '--format', 'json']);
    return text
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<'Service' | 'State' | 'Health', string>]));
  };
  return {
    name: PROJECT,
    compose,
    states,
    build: () => compose(['build', 'connector'], { limitMs: UP_LIMIT_MS, signal }),
    /** Starts the services, waits until all are healthy, and throws with their states and last words when they are not. */
    async up(names: readonly string[], ...args: readonly string[]) {
      try {
        await compose([...profiles(names), 'up', '--wait', ...args], { limitMs: UP_LIMIT_MS, signal });
      } catch (error) {
        const unhealthy = (await states()).filter(({ Health }) => Health !== 'healthy').map(({ Service }) => Service);
        const logs = await compose(['logs', '--no-color', '--tail', '20', ...unhealthy]).catch(String);
        throw new Error(`${(error as Error).message}\nNot healthy: ${unhealthy.join(', ')}\n${logs}`, { cause: error });
      }
    },
    exec: (service: string, command: readonly string[]) => compose(['exec', '-T', service, ...command]),
    /** The id of a service's one container, stopped or not. */
    container: (service: string) => compose(['ps', '--all', '--quiet', service]),
  };
}

export function publishedPorts(composeText: string): readonly number[] {
  return [...composeText.matchAll(/"127\.0\.0\.1:(?:\$\{\w+:-)?(\d+)\}?:\d+"/g)].map(([, port]) => Number(port));
}

export function readText(root: string, path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
