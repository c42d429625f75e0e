import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';
import { CONNECT_ANSWERS, type ConnectAnswer, shapeOf } from '../../support/connectors/connect-answers.ts';

const arrange: Readonly<Record<ConnectAnswer['while'], (scene: AdminScene) => void>> = {
  running: () => {},
  failed: ({ board }) => board.events.sourceFailed({ source: 'instruments', err: new Error('x') }),
  stopped({ board, operator }) {
    operator.wants('instruments', { state: 'stopped' });
    board.events.sourceStopped({ source: 'instruments' });
  },
};

for (const state of ['running', 'failed', 'stopped'] as const) {
  test(`while a connector is ${state}, each request is answered in the shape of Kafka Connect`, async (t) => {
    const scene = await startAdminScene(t);
    makeReady(scene);
    arrange[state](scene);
    for (const wanted of CONNECT_ANSWERS.filter((answer) => answer.while === state)) {
      const { request, body, status, shape } = wanted;
      const [method = '', path = ''] = request.split(' ');
      const answer = await scene.change(method, path, body);
      const text = await answer.text();
      const found = text === '' ? null : shapeOf(JSON.parse(text));
      assert.deepEqual({ request, status: answer.status, shape: found }, { request, status, shape });
    }
  });
}
