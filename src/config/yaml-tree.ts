import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Position, Problem, SettingPath } from './problem.ts';
import { FileReference } from './secret.ts';

/** A settings file as plain values, with the values of the environment and the position of each value. */
export interface SettingsTree {
  readonly value: unknown;
  /** Problems of the YAML and of references to the environment, in the order of the file. */
  readonly problems: readonly (Problem & { readonly position?: Position })[];
  /** Line and column of a setting, counted from 1. If unknown: the position of the nearest group around it. */
  positionOf(path: SettingPath, at: 'key' | 'value'): Position | undefined;
  variablesOf(path: SettingPath): readonly string[];
  /** The environment variables that gave the value; empty if the value itself is in the file. */
  originsOf(path: SettingPath): readonly string[];
  /** True if the whole value in the file is one reference, like `${NAME}`. */
  isReference(path: SettingPath): boolean;
  readonly variables: ReadonlySet<string>;
}

const MAXIMUM_CHARACTERS = 1_048_576;
const MAXIMUM_NODES = 10_000;
const MAXIMUM_DEPTH = 20;

interface Place {
  readonly key: Position | undefined;
  readonly value: Position | undefined;
  readonly variables: readonly string[];
  readonly isReference: boolean;
}

/** A hint for a usual mistake: in YAML, `{ key: ${VARIABLE} }` is a map inside a map. */
function hintFor(line: string | undefined): string {
  return line?.includes('${') ? '; inside { } and [ ] a reference to the environment needs quotes' : '';
}

/** Parses YAML 1.2 first and inserts the environment afterwards, so that no inserted value is read as YAML. */
export function readSettingsTree(text: string, env: Environment): SettingsTree {
  const lines = new LineCounter();
  const conversion = createConversion(env, lines);
  const { places, problems } = conversion;
  const value = conversion.read(text);

  /** A secret may have the key `<key>File`. */
  function placeOf(path: SettingPath): Place | undefined {
    const [parent, key] = [path.slice(0, -1), path.at(-1)];
    return places.get(JSON.stringify(path)) ?? places.get(JSON.stringify([...parent, `${key}File`]));
  }

  return {
    value,
    problems,
    positionOf(path, at) {
      const place = placeOf(path);
      if (place) return place[at] ?? place.key;
      for (let length = path.length - 1; length > 0; length--) {
        const around = placeOf(path.slice(0, length));
        if (around) return around.key ?? around.value;
      }
      return undefined;
    },
    variablesOf: (path) => placeOf(path)?.variables ?? [],
    originsOf: (path) =>
      (placeOf(path)?.variables ?? []).flatMap((name) => [name, `${name}_FILE`].filter((one) => env[one])),
    isReference: (path) => placeOf(path)?.isReference ?? false,
    variables: new Set([...places.values()].flatMap(({ variables }) => variables)),
  };
}

/** Converts YAML nodes to plain values; collects their positions and problems. */
function createConversion(env: Environment, lines: LineCounter) {
  const places = new Map<string, Place>();
  const problems: (Problem & { position?: Position })[] = [];
  let nodes = 0;

  function convert(node: Node | null, path: SettingPath, key: Position | undefined, document: Document): unknown {
    const target = isAlias(node) ? node.resolve(document) : node;
    if (target === undefined) problems.push({ path, message: 'not YAML: an alias without its anchor' });
    nodes++;
    if (nodes > MAXIMUM_NODES || path.length > MAXIMUM_DEPTH) {
      if (nodes === MAXIMUM_NODES + 1 || path.length === MAXIMUM_DEPTH + 1) {
        problems.push({ path, message: `more than ${MAXIMUM_NODES} values or ${MAXIMUM_DEPTH} levels` });
      }
      return undefined;
    }
    const place = { key, value: positionAt(node?.range?.[0]), variables: [], isReference: false };
    places.set(JSON.stringify(path), place);
    if (isMap(target)) return convertMap(target.items, path, document);
    if (isSeq(target)) return target.items.map((item, n) => convert(item as Node, [...path, n], undefined, document));
    if (!isScalar(target) || typeof target.value !== 'string') return isScalar(target) ? target.value : null;
    const { value, variables, isReference, problems: found } = substitute(target.value, env);
    places.set(JSON.stringify(path), { ...place, variables, isReference });
    problems.push(...found.map((message) => ({ path, message })));
    if (target.value.includes('\ufffd')) problems.push({ path, message: 'is not UTF-8; save the file as UTF-8' });
    return value;
  }

  function convertMap(items: readonly { key: unknown; value: unknown }[], path: SettingPath, document: Document) {
    const map: Record<string, unknown> = Object.create(null);
    for (const { key, value } of items) {
      const position = positionAt((key as Node | null)?.range?.[0]);
      if (isScalar(key) && typeof key.value === 'string' && key.value !== '__proto__') {
        map[key.value] = convert(value as Node | null, [...path, key.value], position, document);
      } else {
        problems.push({ path, message: 'has a key that is not a name', ...(position && { position }) });
      }
    }
    return map;
  }

  function positionAt(offset: number | undefined): Position | undefined {
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  }

  function read(text: string): unknown {
    if (text.length > MAXIMUM_CHARACTERS) {
      problems.push({ path: [], message: `longer than ${MAXIMUM_CHARACTERS} characters` });
      return undefined;
    }
    // With another log level, the parser ignores a second document silently.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
    // The parser only warns of an unknown tag, and then reads `!env NAME` as the text NAME.
    const errors = [...document.errors, ...document.warnings];
    // One wrong character can cause an error for each later word. So only the first error and all repeated keys are reported.
    for (const error of errors.filter(({ code }, at) => at === 0 || code === 'DUPLICATE_KEY')) {
      const position = positionAt(error.pos[0]);
      // The parser's message quotes the text, which may be a secret. Only the part before the quote is used.
      const said = `not YAML: ${error.message.split(/[:"`]/)[0]}${hintFor(text.split('\n')[(position?.line ?? 0) - 1])}`;
      const message = error.code === 'MULTIPLE_DOCS' ? 'a second document begins here; remove it' : said;
      problems.push({ path: [], message, ...(position && { position }) });
    }
    return errors.length > 0 ? undefined : convert(document.contents, [], undefined, document);
  }

  return { places, problems, read };
}

export type Environment = Readonly<Record<string, string | undefined>>;

interface Substitution {
  readonly value: string | FileReference;
  readonly variables: readonly string[];
  /** True if the whole text is one reference. */
  readonly isReference: boolean;
  readonly problems: readonly string[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;

/** Quotes around a whole value: a shell and compose remove these quotes, but `docker run --env-file` does not. */
const QUOTED = /^(["']).*\1$/s;
const PARTS = /^([A-Za-z_][A-Za-z0-9_]*)(?::([-?])((?:(?!\$\{).)*))?$/s;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the reference itself is shown.
const FORMS = 'expected ${NAME}, ${NAME:-default} or ${NAME:?message} with no ${ inside, or $${ to write a plain ${';

/**
 * Inserts the environment into one scalar of the settings: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`; `$${`
 * stands for `${`. An empty variable counts as missing, because compose passes unset variables as empty. Inserted text
 * is not parsed again, neither as YAML nor for references. If the whole scalar is one reference to a secret, its value
 * may come from the file `<NAME>_FILE`. Exported for tests.
 */
export function substitute(text: string, env: Environment): Substitution {
  const variables: string[] = [];
  const problems: string[] = [];
  let file: FileReference | undefined;
  let isReference = false;
  const value = text.replace(REFERENCE, (whole: string, inner: string | undefined) => {
    if (inner === undefined) return '${';
    const [, name, operator, rest] = (whole.endsWith('}') && PARTS.exec(inner)) || [];
    if (name === undefined) {
      problems.push(`a reference cannot be read; ${FORMS}`);
      return '';
    }
    variables.push(name);
    isReference = whole === text;
    const path = isReference ? env[`${name}_FILE`] || undefined : undefined;
    if (env[name] && path) problems.push(`${name} and ${name}_FILE are both set; unset one of them`);
    for (const given of [name, `${name}_FILE`].filter((one) => QUOTED.test(env[one] ?? ''))) {
      problems.push(`${given} has quotes around its value, as docker run --env-file leaves them; remove them`);
    }
    if (path) file = new FileReference(path);
    const given = env[name] || path || (operator === '-' ? (rest ?? '') : undefined);
    if (given === undefined) problems.push(`${name} is not set${operator === '?' && rest ? `: ${rest}` : ''}`);
    return given ?? '';
  });
  return { value: file ?? value, variables, isReference, problems };
}
