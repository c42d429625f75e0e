// Copied into stand-ins beside the program that uses it.

import { createServer } from 'node:http';

/** Answers these paths with JSON, and whatever fails or is unknown with 500 and why; ends at SIGTERM. */
export function answering(port: number, answers: Readonly<Record<string, () => Promise<object>>>): void {
  createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''];
    const outcome = answer === undefined ? Promise.reject(new Error('unknown to the stand-in')) : answer();
    outcome.then(
      (body) => response.end(JSON.stringify(body)),
      (error: Error) => response.writeHead(500).end(JSON.stringify({ message: error.message })),
    );
  }).listen(port);
  process.once('SIGTERM', () => process.exit(0));
}
