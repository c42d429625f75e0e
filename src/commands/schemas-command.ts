import { type Subject, subjectsOf } from '../run/planned-topics.ts';
import { createRegistry, createSubjects } from '../run/registry-client.ts';
import { systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { loadWithoutProvider } from './command-settings.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

export async function schemasList(context: CommandContext): Promise<void> {
  const { signal, stderr, exitWith } = context;
  const { registry, subjects } = await registryOf(context);
  const found = [];
  for (const { subject, name, schema } of subjects) {
    const listed = await listedSubject(registry, { subject, schema }, signal);
    found.push({ subject, schema: name, ...listed, compatibility: await registry.level(subject, signal) });
  }
  const rows = found.map(({ subject, schema, state, versions, compatibility }) => {
    const shown = versions.map(({ version, id, isOurs }) => `${version} (id ${id}${isOurs ? ', ours' : ''})`);
    return [subject, schema, state, compatibility ?? 'no compatibility set', shown.join(', ') || 'no version'];
  });
  print(context, found, textTable(rows));
  if (found.every(({ state }) => state !== 'incompatible')) return;
  stderr.write(
    'The registry would refuse the incompatible schemas: register a compatible schema, or use other topics.\n',
  );
  exitWith(EXIT_CODES.failed);
}

/** The versions of a subject. `accepted`: the registry does not have our schema, but accepts it. */
export async function listedSubject(
  registry: Awaited<ReturnType<typeof createSubjects>>,
  { subject, schema }: Pick<Subject, 'subject' | 'schema'>,
  signal: AbortSignal,
) {
  const versions = await registry.versions(subject, schema, signal);
  if (versions.some(({ isOurs }) => isOurs)) return { state: 'registered', versions } as const;
  const isAccepted = versions.length === 0 || (await registry.isCompatible(subject, schema, signal));
  return { state: isAccepted ? 'accepted' : 'incompatible', versions } as const;
}

export async function schemasRegister(context: CommandContext): Promise<void> {
  const { settings, subjects } = await registryOf(context);
  const registering = { ...settings.schemaRegistry, register: true };
  const registry = await createRegistry(registering, { clock: systemClock, log: silentLog });
  const found = [];
  for (const { subject, name, schema } of subjects) {
    found.push({ subject, schema: name, id: await registry.schemaId(subject, schema, context.signal) });
  }
  print(context, found, textTable(found.map(({ subject, schema, id }) => [subject, schema, `id ${id}`])));
}

async function registryOf(context: CommandContext) {
  const settings = await loadWithoutProvider(context);
  const registry = await createSubjects(settings.schemaRegistry, systemClock);
  return { settings, registry, subjects: subjectsOf(settings) };
}
