import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { testAdmin } from '../support/connectors/admin-connector.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';

// The client needs a module that Python has dropped with 3.13.
const CLIENT = ['kafka-connect-cli==0.2.5', 'legacy-cgi==2.6.4'];
const RUN_TIMEOUT_MS = 600_000;

const run = promisify(execFile);

testAdmin('a client written for Kafka Connect lists, pauses, resumes and restarts sources', {}, async (t, world) => {
  const python = await pythonWith(CLIENT);
  if (python === null) return t.skip('SKIPPED: no python3, or nothing to install kafka-connect-cli from');
  const connector = await world.start();
  await connector.event('walkCompleted');

  const client = async (...args: string[]): Promise<string> => {
    const options = { timeout: RUN_TIMEOUT_MS, env: { ...process.env, PYTHONWARNINGS: 'ignore' } };
    const all = [...args, '--url', connector.urlWithLogin];
    return (await run(python, ['-m', 'kafka_connect', ...all], options)).stdout;
  };
  const state = async () => JSON.parse(await client('connector', 'get', '--name', 'instruments')).state;

  assert.equal(await client('health-check', '--verbose'), 'Connector instruments in state RUNNING\n');
  assert.deepEqual(JSON.parse(await client('connector', 'list')), [
    { connector: 'instruments', state: 'RUNNING', failedTasks: [] },
  ]);
  assert.deepEqual(JSON.parse(await client('task', 'list', '--connector', 'instruments')), [
    { taskId: 0, state: 'RUNNING', trace: '' },
  ]);
  const config = JSON.parse(await client('connector', 'configuration', '--name', 'instruments'));
  assert.equal(config['connector.class'], 'structured-products-connect.InstrumentsSource');

  assert.equal(await client('connector', 'pause', '--name', 'instruments'), '');
  await connector.states('instruments', 'PAUSED PAUSED');
  assert.equal(await state(), 'PAUSED');
  await client('connector', 'resume-all');
  await connector.states('instruments', 'RUNNING RUNNING');
  const starts = () => connector.fieldsOf('sourceStarted').length;
  assert.equal(starts(), 1);
  await client('connector', 'restart', '--name', 'instruments');
  await client('task', 'restart', '--connector', 'instruments', '--task', '0');
  await connector.states('instruments', 'RUNNING RUNNING');

  await client('connector', 'delete', '--name', 'instruments').then(
    (said) => assert.match(said, /405.*settings file/),
    ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      assert.match(`${stdout}${stderr}`, /405.*settings file/),
  );
  assert.equal(await state(), 'RUNNING');
});
