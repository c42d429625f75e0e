import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Authorization, AuthorizationOptions } from '../../../../src/provider/http/credentials.ts';
import type { OAuth2Settings } from '../../../../src/provider/http/oauth/token-request.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { freeTurns, json, keepingLog, never, serve } from './loopback.ts';

export type Answer = Readonly<Record<string, unknown>> | ((request: IncomingMessage, response: ServerResponse) => void);

/** A token endpoint that gives the next answer each time, and the last one for ever. */
export async function tokenEndpoint(t: TestContext, answers: Answer[]) {
  const requests: { readonly authorization: string | undefined; readonly form: URLSearchParams }[] = [];
  const { url, server } = await serve(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ authorization: request.headers.authorization, form: new URLSearchParams(body) });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (typeof answer === 'function') return answer(request, response);
    response.writeHead(answer?.error === undefined ? 200 : 400, json).end(JSON.stringify(answer));
  });
  const connections = promisify(server.getConnections.bind(server));
  return { url: `${url}/token`, requests, connections };
}

/** What a token endpoint answers. */
export const token = (value: string, expires_in: unknown = 3_600) => ({
  access_token: value,
  token_type: 'Bearer',
  expires_in,
});

/** Options with a monotonic clock that stands until `nowMs` is set. */
export function options(): AuthorizationOptions & { nowMs: number; readonly log: ReturnType<typeof keepingLog> } {
  const made = {
    name: 'marketData',
    allowHttp: false,
    timeoutMs: 20_000,
    nowMs: 0,
    random: () => 1,
    log: keepingLog(),
  };
  const clock = { ...systemClock, monotonicMs: () => made.nowMs };
  return Object.assign(made, { clock, turns: freeTurns({ clock }) });
}

export function oauth2(tokenUrl: string, more: Partial<OAuth2Settings> = {}): OAuth2Settings {
  return {
    type: 'oauth2',
    tokenUrl,
    clientId: 'client',
    clientSecret: async () => 'canary+secret',
    scope: 'openid',
    ...more,
  };
}

/** The header field that an authorization gives now. */
export const value = async (authorization: Authorization, signal = never) =>
  (await authorization.headers(signal)).authorization;
