import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SubjectVersion } from '../avro/registry-subjects.ts';
import { readSchemaText, SCHEMA_NAMES } from '../avro/schema-files.ts';
import type { Settings } from '../config/settings.ts';
import { createRegistry, createSubjects } from '../setup/registry-client.ts';
import { subjectsOf } from '../setup/subjects.ts';
import { systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';

export interface ListedSubject {
  readonly subject: string;
  /** The name of our schema for it. */
  readonly schema: string;
  /** What the registry holds, oldest first. */
  readonly versions: readonly SubjectVersion[];
  /** The compatibility that the subject has of its own; null when it has none. */
  readonly compatibility: string | null;
}

interface SchemasAt {
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/**
 * Every subject of the settings, as the registry has it.
 *
 * @throws ConnectorError REGISTRY_UNREACHABLE, REGISTRY_REFUSED.
 */
export async function listSubjects({ settings, signal }: SchemasAt): Promise<readonly ListedSubject[]> {
  const registry = await createSubjects(settings.schemaRegistry, systemClock);
  const found: ListedSubject[] = [];
  for (const { subject, name, schema } of subjectsOf(settings)) {
    const versions = await registry.versions(subject, schema, signal);
    found.push({ subject, schema: name, versions, compatibility: await registry.level(subject, signal) });
  }
  return found;
}

export interface CheckedSubject {
  readonly subject: string;
  readonly schema: string;
  /** `registered`: it is there; `compatible`: the registry would take it. */
  readonly state: 'registered' | 'compatible' | 'incompatible';
}

/** Asks the registry whether it has or would take our schemas; registers nothing. */
export async function checkSchemas({ settings, signal }: SchemasAt): Promise<readonly CheckedSubject[]> {
  const registry = await createSubjects(settings.schemaRegistry, systemClock);
  const found: CheckedSubject[] = [];
  for (const { subject, name, schema } of subjectsOf(settings)) {
    const versions = await registry.versions(subject, schema, signal);
    const isThere = versions.some(({ isOurs }) => isOurs);
    const isCompatible = isThere || versions.length === 0 || (await registry.isCompatible(subject, schema, signal));
    found.push({ subject, schema: name, state: isThere ? 'registered' : isCompatible ? 'compatible' : 'incompatible' });
  }
  return found;
}

/**
 * Registers every schema as the connector does at its start, whatever schemaRegistry.register says: it is for users
 * who start the connector without the right to register.
 *
 * @returns the id of each.
 * @throws ConnectorError as the registry does, SCHEMA_INCOMPATIBLE among others.
 */
export async function registerSchemas({
  settings,
  signal,
}: SchemasAt): Promise<readonly { readonly subject: string; readonly schema: string; readonly id: number }[]> {
  const registering = { ...settings.schemaRegistry, register: true };
  const registry = await createRegistry(registering, { clock: systemClock, log: silentLog });
  const registered = [];
  for (const { subject, name, schema } of subjectsOf(settings)) {
    registered.push({ subject, schema: name, id: await registry.schemaId(subject, schema, signal) });
  }
  return registered;
}

/** Writes every schema into a folder, each as a self-contained file. Gives the paths. */
export async function exportSchemas(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const paths = [];
  for (const name of SCHEMA_NAMES) {
    const path = join(folder, `${name}.avsc`);
    await writeFile(path, `${JSON.stringify(JSON.parse(readSchemaText(name)), null, 2)}\n`);
    paths.push(path);
  }
  return paths;
}
