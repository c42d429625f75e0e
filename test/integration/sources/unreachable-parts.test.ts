import assert from 'node:assert/strict';
import {
  type Installation,
  type InstallationOptions,
  testInstallation,
} from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { type PortMode, type SwitchablePort, switchablePort } from '../../support/network/switchable-port.ts';

const INSTRUMENTS = 200;
const SCENE: InstallationOptions = { simulator: { instruments: INSTRUMENTS }, source: { limit: 100 } };

/** How many records the instruments and the offsets topic hold. */
const written = async ({ read }: Installation) => [(await read('instruments')).length, (await read('offsets')).length];

/** The walk comes to its end, and every instrument is there once. */
async function assertWalked({ kafka, prefix, read }: Installation, connector: RunningConnector): Promise<void> {
  await connector.event('walkCompleted');
  await connector.stop();
  await fenceSource(kafka, prefix);
  const keys = (await read('instruments')).map(({ key }) => String(key));
  assert.deepEqual([keys.length, new Set(keys).size], [INSTRUMENTS, INSTRUMENTS]);
}

/** The same base URL at another port. */
function through(url: string, { address }: SwitchablePort): string {
  const moved = new URL(url);
  moved.host = address;
  return moved.href.replace(/\/$/, '');
}

/** Errors of the attempts that have failed so far, each reported with its wait. */
function failures(connector: RunningConnector): { code: string; message: string }[] {
  return connector.fieldsOf('attemptFailed').map(({ waitMs, err }) => {
    assert.ok(waitMs > 0, 'every failure says how long it waits');
    return { code: err.code, message: err.message };
  });
}

testInstallation(
  'Kafka that is down at the start is named with its setting, and used once it is there',
  SCENE,
  async (t, scene) => {
    const port = await switchablePort(t, 'cut');
    const connector = await scene.start({ stack: { ...scene.stack, brokers: [port.address] } });
    await connector.event('attemptFailed');
    const [failure] = failures(connector);
    assert.equal(failure?.code, 'KAFKA_UNREACHABLE');
    assert.match(failure?.message ?? '', /kafka\.brokers/);
    assert.equal(scene.simulator.requests.count('instruments'), 0, 'nothing is asked for that could not be written');
    port.turn({ to: scene.stack.brokers[0] ?? '' });
    await assertWalked(scene, connector);
  },
);

const registryFaults: Record<string, { mode: PortMode; says: RegExp }> = {
  'is down': { mode: 'cut', says: /of schemaRegistry got no response .*check schemaRegistry\.url/ },
  'answers 500': { mode: 'fail', says: /schema registry answered 500/ },
  'never answers': { mode: 'hang', says: /^\w+ http:.+ of schemaRegistry was not answered within \d+ ms/ },
};
for (const [what, { mode, says }] of Object.entries(registryFaults)) {
  testInstallation(
    `a schema registry that ${what}: nothing is written, the log says so, and it goes on later`,
    SCENE,
    async (t, scene) => {
      const port = await switchablePort(t, mode);
      const connector = await scene.start({
        stack: { ...scene.stack, registryUrl: through(scene.stack.registryUrl, port) },
      });
      await connector.event('attemptFailed');
      const [failure] = failures(connector);
      assert.equal(failure?.code, 'REGISTRY_UNREACHABLE');
      assert.match(failure?.message ?? '', says);
      assert.deepEqual(await written(scene), [0, 0]);
      port.turn({ to: new URL(scene.stack.registryUrl).host });
      await assertWalked(scene, connector);
    },
  );
}

testInstallation(
  'a provider that is down at the start is named with its setting, and asked again',
  SCENE,
  async (t, scene) => {
    const port = await switchablePort(t, 'cut');
    const { referenceDataUrl } = scene.simulator;
    const connector = await scene.start({
      simulator: { ...scene.simulator, referenceDataUrl: through(referenceDataUrl, port) },
    });
    await connector.event('attemptFailed');
    const [failure] = failures(connector);
    assert.equal(failure?.code, 'PROVIDER_UNREACHABLE');
    assert.match(failure?.message ?? '', /check referenceData\.url/);
    assert.deepEqual(await written(scene), [0, 0]);
    port.turn({ to: new URL(referenceDataUrl).host });
    await assertWalked(scene, connector);
  },
);

testInstallation(
  'a token endpoint that refuses is named with its settings, and asked again',
  SCENE,
  async (_t, scene) => {
    const refusal = {
      kind: 'status',
      status: 401,
      contentType: 'application/json',
      body: '{"error":"invalid_client"}',
    };
    scene.simulator.injectFaults([{ match: 'token', count: 0, fault: { ...refusal, kind: 'status' } }]);
    const connector = await scene.start();
    await connector.event('attemptFailed');
    const [failure] = failures(connector);
    assert.equal(failure?.code, 'TOKEN_FAILED');
    assert.match(failure?.message ?? '', /of referenceData\.auth \(POST http:.*\) answered 401 \(invalid_client/);
    assert.deepEqual(await written(scene), [0, 0]);
    scene.simulator.clearFaults();
    await assertWalked(scene, connector);
  },
);
