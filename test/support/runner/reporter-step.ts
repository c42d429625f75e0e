import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/**
 * Runs one npm script as a step of the test run, and shows its output when it fails.
 *
 * @returns why it failed, or undefined.
 */
export async function runStep(name: string, root: string, signal: AbortSignal): Promise<string | undefined> {
  const startedMs = performance.now();
  const child = spawn('npm', ['run', '--silent', name], { cwd: root, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  const failed = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => resolve(code === 0 ? undefined : `npm run ${name} ended with code ${code}`));
  });
  const output = await Promise.all([text(child.stdout), text(child.stderr)]);
  const failure = await failed;
  const sign = failure === undefined ? '✔' : '✖';
  process.stdout.write(`${sign} ${name} (${Math.round(performance.now() - startedMs)}ms)\n`);
  if (failure !== undefined) process.stdout.write(`${output.join('')}\n`);
  return failure;
}
