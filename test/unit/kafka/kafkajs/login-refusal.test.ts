import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kafkaReason } from '../../../../src/kafka/kafkajs/kafkajs-errors.ts';
import { type BrokerTokens, oauthbearer } from '../../../../src/kafka/kafkajs/oauthbearer.ts';
import { systemClock } from '../../../../src/support/clock.ts';

type Provider = ReturnType<typeof oauthbearer>['authenticationProvider'];
type Arguments = Parameters<Provider>[0];

/** A JWT with these claims, which nobody has signed. */
const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.canary-signature`;

/** Logs in at a broker that gives these answers, and says what was sent and which tokens were refused. */
async function logIn(tokens: Pick<BrokerTokens, 'get'>, answers: readonly (string | Error)[]) {
  const sent: string[] = [];
  const refused: string[] = [];
  const left = [...answers];
  const saslAuthenticate = async ({ request, response }: Parameters<Arguments['saslAuthenticate']>[0]) => {
    sent.push((await request.encode()).subarray(4).toString());
    const answer = left.shift() ?? '';
    if (answer instanceof Error) throw answer;
    const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from(answer)]);
    return response?.parse(await response.decode(bytes));
  };
  const { authenticationProvider } = oauthbearer(
    { ...tokens, refused: (token) => refused.push(token) },
    { extensions: { logicalCluster: 'lkc-1', identityPoolId: 'pool-1' }, clock: systemClock },
  );
  const given = { host: 'kafka-1', port: 9092, saslAuthenticate } as unknown as Arguments;
  const outcome = await authenticationProvider(given)
    .authenticate()
    .then(
      () => 'accepted',
      (error: unknown) => kafkaReason(new Error('of the client', { cause: error })),
    );
  return { outcome, sent, refused };
}

test('without a token nothing is sent, and the message says why there is none', async () => {
  const get = () => Promise.reject(new Error('The token endpoint answered 503.'));
  const { outcome, sent } = await logIn({ get }, []);
  assert.equal(outcome, 'There is no token for the brokers. The token endpoint answered 503.');
  assert.deepEqual(sent, []);
});

test('claims are shown on one line and cut, and what is missing is named', async () => {
  const refusalOf = async (claims: object) => (await logIn({ get: async () => jwt(claims) }, ['no', ''])).outcome;
  const says = /It has subject .*, and no iss and no aud; it expired /;
  assert.match(await refusalOf({ sub: 'a\u001b[2J\n', exp: 1 }), says);
  assert.doesNotMatch(await refusalOf({ sub: 'a\u001b[2J\u202e' }), /[\p{Cc}\p{Cf}]/u);
  assert.doesNotMatch(await refusalOf({ aud: 'x'.repeat(9_999) }), /x{300}/);
});
