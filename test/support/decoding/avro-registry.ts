import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { portOf } from '../network/loopback-port.ts';

interface RegistryCall {
  /** Method and path: "PUT /config/a-value". */
  readonly name: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * What a fake registry answers to a call: undefined leaves it without an answer, a text is sent cut off, 'break' closes
 * the connection, and 'raced' does what was asked in the name of somebody else and answers with 409.
 */
export type RegistryReply =
  | { readonly status: number; readonly body: object }
  | { readonly cut: string }
  | 'break'
  | 'raced'
  | undefined;

/** A registry of one subject that does as Apicurio does, for the faults that a real one does not have. */
export async function startFakeRegistry(t: TestContext, firstLevel: string | null = null) {
  const calls: RegistryCall[] = [];
  /** Overrides of the answers by method and path. */
  const replies = new Map<string, RegistryReply>();
  let level: unknown = firstLevel;
  let schema: unknown = null;

  function reply(name: string, body: Readonly<Record<string, unknown>>): RegistryReply {
    const override = replies.get(name);
    if (override === 'raced') {
      replies.delete(name);
      reply(name, body);
      return { status: 409, body: {} };
    }
    if (replies.has(name)) return override;
    if (name.startsWith('GET /config/')) {
      if (level === null) return { status: 404, body: { error_code: 40408 } };
      return { status: 200, body: { compatibilityLevel: level } };
    }
    if (name.startsWith('PUT /config/')) {
      level = body.compatibility;
      return { status: 200, body };
    }
    if (name.endsWith('/versions')) {
      schema = body.schema;
      return { status: 200, body: { id: 42 } };
    }
    if (name.startsWith('POST /subjects/')) {
      return schema === body.schema ? { status: 200, body: { id: 42 } } : { status: 404, body: { error_code: 40403 } };
    }
    return { status: 200, body: { schema } };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const call = {
      name: `${request.method} ${request.url}`,
      authorization: request.headers.authorization,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    calls.push(call);
    const replied = reply(call.name, call.body);
    if (replied === undefined) return;
    if (typeof replied === 'string') {
      request.socket.destroy();
      return;
    }
    if ('cut' in replied) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': replied.cut.length + 10 });
      response.write(replied.cut, () => response.destroy());
      return;
    }
    response.writeHead(replied.status, { 'content-type': 'application/json' }).end(JSON.stringify(replied.body));
  }

  const server = createServer((request, response) => void answer(request, response));
  return { url: `http://127.0.0.1:${await portOf(t, server)}`, calls, replies };
}
