import { FileReference } from './secret.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The result for one scalar: its value, the variables that it names, and why it cannot be used. */
export interface Substitution {
  readonly value: string | FileReference;
  readonly variables: readonly string[];
  readonly problems: readonly string[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;
/** A shell and compose remove quotes; a program that reads a file of variables literally does not. */
const QUOTED = /^(["']).*\1$/s;
const PARTS = /^([A-Za-z_][A-Za-z0-9_]*)(?::([-?])(.*))?$/s;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the reference itself is shown.
const FORMS = 'expected ${NAME}, ${NAME:-default} or ${NAME:?message}, or $${ for the characters themselves';

/**
 * Puts the environment into one scalar of the settings: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`; `$${` stands
 * for `${`. An empty variable counts as missing, as compose passes an unset one on. What is put in is never looked at
 * again: neither YAML nor references in it count. A scalar that is one reference and nothing else may also come from
 * `<NAME>_FILE`, for secrets.
 */
export function substitute(text: string, env: Environment): Substitution {
  const variables: string[] = [];
  const problems: string[] = [];
  let file: FileReference | undefined;
  const value = text.replace(REFERENCE, (whole: string, inner: string | undefined) => {
    if (inner === undefined) return '${';
    const [, name, operator, rest] = (whole.endsWith('}') && PARTS.exec(inner)) || [];
    if (name === undefined) {
      problems.push(`a reference cannot be read; ${FORMS}`);
      return '';
    }
    variables.push(name);
    const path = whole === text ? env[`${name}_FILE`] || undefined : undefined;
    if (env[name] && path) problems.push(`${name} and ${name}_FILE are both set; unset one of them`);
    for (const given of [name, `${name}_FILE`].filter((one) => QUOTED.test(env[one] ?? ''))) {
      problems.push(`${given} has quotes around its value, as docker run --env-file leaves them; take them away`);
    }
    if (path) file = new FileReference(path);
    const given = env[name] || path || (operator === '-' ? (rest ?? '') : undefined);
    if (given === undefined) problems.push(`${name} is not set${operator === '?' && rest ? `: ${rest}` : ''}`);
    return given ?? '';
  });
  return { value: file ?? value, variables, problems };
}
