import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { ListedSubject } from '../../operator/schemas-operation.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, type Output, outputOption, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { loadWithoutProvider } from './partial-settings.ts';

/** `schemas`: the definitions of our records, here and in the registry. Kafka is not asked. */
export function schemasCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal, exitWith } = context;
  const schemas = program
    .command('schemas')
    .description('List, check, register or export the schemas.')
    .addHelpText('after', '\nExample:\n  spconnect schemas list\n');
  const at = async ({ config }: DataOptions) => {
    return { settings: await loadWithoutProvider(config, context), signal };
  };
  const print = (output: Output, found: unknown, rows: readonly (readonly string[])[]) =>
    stdout.write(output === 'json' ? jsonText(found) : textTable(rows));
  const add = (name: string, description: string, example: string) =>
    schemas
      .command(name)
      .description(description)
      .addOption(outputOption())
      .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
      .addHelpText('after', `\nExample:\n  spconnect ${example}\n`);

  add(
    'list',
    'List the subjects of the settings: their versions and ids in the registry, and which one is ours.',
    'schemas list',
  ).action(async (options: DataOptions) => {
    const { listSubjects } = await import('../../operator/schemas-operation.ts');
    const found = await listSubjects(await at(options));
    print(options.output, found, found.map(asRow));
  });

  add(
    'check',
    'Check whether the registry has, or would accept, our schemas; registers nothing.',
    'schemas check',
  ).action(async (options: DataOptions) => {
    const { checkSchemas } = await import('../../operator/schemas-operation.ts');
    const found = await checkSchemas(await at(options));
    print(
      options.output,
      found,
      found.map(({ subject, schema, state }) => [subject, schema, state]),
    );
    if (found.every(({ state }) => state !== 'incompatible')) return;
    stderr.write(
      'The registry would refuse the incompatible schemas: register a compatible schema, or use other topics.\n',
    );
    exitWith(EXIT_CODES.failed);
  });

  add('register', 'Register our schemas, with compatibility FULL_TRANSITIVE.', 'schemas register').action(
    async (options: DataOptions) => {
      const { registerSchemas } = await import('../../operator/schemas-operation.ts');
      const found = await registerSchemas(await at(options));
      print(
        options.output,
        found,
        found.map(({ subject, schema, id }) => [subject, schema, `id ${id}`]),
      );
    },
  );

  addExport(schemas, stdout);
}

function addExport(schemas: Command, stdout: CommandContext['stdout']): void {
  schemas
    .command('export')
    .description('Write our schemas as self-contained files, for code generators.')
    .argument('<folder>', 'the folder to write to; created when missing, files of the same name are replaced')
    .addHelpText('after', '\nExample:\n  spconnect schemas export build/schemas\n')
    .action(async (folder: string) => {
      const { exportSchemas } = await import('../../operator/schemas-operation.ts');
      stdout.write(textTable((await exportSchemas(folder)).map((path) => [path])));
    });
}

function asRow({ subject, schema, versions, compatibility }: ListedSubject): string[] {
  const shown = versions.map(({ version, id, isOurs }) => `${version} (id ${id}${isOurs ? ', ours' : ''})`);
  return [subject, schema, compatibility ?? 'no compatibility set', shown.join(', ') || 'not registered'];
}
