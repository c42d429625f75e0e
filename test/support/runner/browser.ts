import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { Chromium } from './chromium.ts';
import { eventually } from './eventually.ts';

const START_TIMEOUT_MS = 180_000;
const CALL_TIMEOUT_MS = 120_000;

// biome-ignore lint/suspicious/noExplicitAny: what the browser says has a shape of its own for each method.
type Message = any;

export type BrowserPage = Awaited<ReturnType<typeof attach>>;

/** A new page in a new browser, which ends with the test. */
export async function startBrowser(t: TestContext, { program, env }: Chromium) {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const child = spawn(program, [...args, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own: the program may be a script, and what it starts has to end too.
    detached: true,
  });
  t.after(async () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    child.stderr.destroy();
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  });
  const socket = new WebSocket(await debuggerUrl(child.stderr));
  await once(socket, 'open');
  t.after(() => socket.close());
  return attach(socket);
}

async function debuggerUrl(stderr: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const said: string[] = [];
  const missing = () => reject(new Error(`The browser did not start:\n${said.slice(-20).join('\n')}`));
  const patience = setTimeout(missing, START_TIMEOUT_MS);
  createInterface({ input: stderr })
    .on('line', (line) => {
      said.push(line);
      const [, url] = /^DevTools listening on (ws:\S+)$/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    })
    .on('close', missing);
  return promise.finally(() => clearTimeout(patience));
}

/** A page in a browser without a window, driven through the DevTools protocol. */
async function attach(socket: WebSocket) {
  const waiting = new Map<number, PromiseWithResolvers<Message>>();
  /** What the page has done, oldest first: requests, console messages, exceptions. */
  const events: { method: string; params: Message }[] = [];
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(String(data)) as Message;
    if (id === undefined) {
      events.push({ method, params });
      return;
    }
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  const send = (method: string, params: object, sessionId?: string): Promise<Message> => {
    const id = ++last;
    const answer = Promise.withResolvers<Message>();
    waiting.set(id, answer);
    socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
    return inTime(answer.promise, method);
  };
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const call = (method: string, params: object = {}) => send(method, params, sessionId);
  for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await call(`${domain}.enable`);
  const loads = () => events.filter(({ method }) => method === 'Page.loadEventFired').length;
  /** The value of an expression in the page, once it is loaded; of the next one, where it asks for itself just then. */
  const evaluate = async (expression: string): Promise<Message> => {
    const whole = `document.readyState === 'complete' ? [${expression}] : null`;
    // A page that goes takes the question with it.
    const ask = () => call('Runtime.evaluate', { expression: whole, returnByValue: true }).catch(String);
    const isAnswered = ({ result, exceptionDetails }: Message) => exceptionDetails || Array.isArray(result?.value);
    const { result, exceptionDetails } = await eventually(expression, ask, isAnswered, CALL_TIMEOUT_MS);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value[0];
  };
  return {
    call,
    events,
    evaluate,
    /** Opens an address and waits until it is loaded. */
    async open(url: string) {
      const before = loads();
      await call('Page.navigate', { url });
      // The load that was seen may be that of the page before.
      const isOpen = async () => loads() > before && (await evaluate('location.href')) === url;
      await eventually(`${url} is loaded`, isOpen, Boolean, CALL_TIMEOUT_MS);
    },
  };
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const patience = setTimeout(
    () => late.reject(new Error(`${what} took more than ${CALL_TIMEOUT_MS} ms`)),
    CALL_TIMEOUT_MS,
  );
  return Promise.race([work, late.promise]).finally(() => clearTimeout(patience));
}
