import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A service of docker-compose.yml, as far as tests look at it. */
interface ComposeService {
  readonly image: string;
  readonly build?: string | { readonly context: string; readonly dockerfile_inline: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly deploy?: { readonly resources?: { readonly limits?: { readonly cpus?: string; readonly memory?: string } } };
}

export const COMPOSE_TEXT = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
export const { services, volumes } = parse(COMPOSE_TEXT, { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, null>>;
};

export function service(name: string): ComposeService {
  const found = services[name];
  assert.ok(found, `there is a service ${name}`);
  return found;
}

/** A value of the compose file as compose reads it, with these variables of a user. */
export function filledIn(value: string, given: Readonly<Record<string, string>> = {}): string {
  return value.replace(/\$\{(\w+)(:?[-+])([^}]*)\}/g, (_, name: string, operator: string, other: string) => {
    if (operator.endsWith('+')) return given[name] ? other : '';
    return given[name] ?? other;
  });
}
