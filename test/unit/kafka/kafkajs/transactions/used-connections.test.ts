import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsedConnections } from '../../../../../src/kafka/kafkajs/transactions/used-connections.ts';

interface Socket {
  bytesWritten: number;
  destroyed: boolean;
  readableEnded: boolean;
}

const socket = (): Socket => ({ bytesWritten: 0, destroyed: false, readableEnded: false });
const write = (to: Socket) => {
  to.bytesWritten += 10;
};

test('a connection that the last transaction used is lost when it has ended or was destroyed, and no other', () => {
  for (const end of ['destroyed', 'readableEnded'] as const) {
    const [used, idle] = [socket(), socket()];
    write(idle);
    const connections = new UsedConnections(() => [used, idle]);
    connections.begins();
    write(used);
    connections.ended();
    assert.equal(connections.isOneLost(), false);
    idle[end] = true;
    assert.equal(connections.isOneLost(), false);
    used[end] = true;
    assert.equal(connections.isOneLost(), true);
  }
});

test('a connection counts that a transaction has opened, and one that it has lost', () => {
  const [opened, lost] = [socket(), socket()];
  let open = [lost];
  const connections = new UsedConnections(() => open);
  connections.begins();
  write(lost);
  lost.destroyed = true;
  open = [opened];
  write(opened);
  connections.ended();
  assert.equal(connections.isOneLost(), true);
  connections.begins();
  write(opened);
  connections.ended();
  assert.equal(connections.isOneLost(), false);
  opened.readableEnded = true;
  assert.equal(connections.isOneLost(), true);
});
