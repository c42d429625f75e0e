import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { skippingClock } from '../../../test/support/runner/manual-clock.ts';
import { systemClock } from '../../support/clock.ts';
import { type Dockerode, ensureImage } from './docker-stack.ts';

type Pull = (image: string, options: { abortSignal: AbortSignal }) => Promise<Readable>;

/** A Docker daemon that has no images, and answers each pull by `pull`. */
function daemon(pull: Pull): Dockerode {
  const inspect = async () => {
    throw Object.assign(new Error('no such image'), { statusCode: 404 });
  };
  return { getImage: () => ({ inspect }), pull } as unknown as Dockerode;
}

function context(clock = systemClock) {
  return { env: {}, clock, onProgress: () => undefined, signal: new AbortController().signal };
}

test('a pull that breaks half-way is a failure, although the daemon answered', async () => {
  const docker = daemon(async () => Readable.from(['{"status":"Pulling"}\n{"error":"unexpected EOF"}\n']));
  await assert.rejects(ensureImage(docker, 'kafka:1', context()), {
    code: 'STACK_UNAVAILABLE',
    message: 'kafka:1 cannot be pulled: unexpected EOF',
  });
});

test('a pull that does not begin is given up after a few seconds, and its request ends', async () => {
  const clock = skippingClock();
  let request: AbortSignal | undefined;
  const docker = daemon((_image, { abortSignal }) => {
    request = abortSignal;
    return new Promise(() => undefined);
  });
  await assert.rejects(ensureImage(docker, 'kafka:1', context(clock)), {
    message: 'kafka:1 cannot be pulled: the first response took longer than 6 s',
  });
  assert.deepEqual([clock.sleepsMs, request?.aborted], [[6_000], true]);
});

test('a pull that stalls is given up after a minute', async () => {
  const clock = skippingClock();
  const stalled = new Readable({ read: () => undefined });
  stalled.push('{"status":"Pulling"}\n');
  await assert.rejects(
    ensureImage(
      daemon(async () => stalled),
      'kafka:1',
      context(clock),
    ),
    {
      message: 'kafka:1 cannot be pulled: the next part took longer than 60 s',
    },
  );
});
