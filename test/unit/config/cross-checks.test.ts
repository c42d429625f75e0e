import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { loadSettings } from '../../../src/config/load.ts';
import { accepted, problemsIn, refused, settingsText } from './settings-text.ts';

const provider = (rest: string) => ({ referenceData: `referenceData: { ${rest} }` });

test('plain http is for this machine, or allowed on purpose', async () => {
  const none = 'auth: { type: none }';
  await refused(
    provider(`url: http://provider.example, ${none}`),
    /referenceData\.url: is plain http to another machine/,
  );
  await refused(provider(`url: http://127.0.0.1.evil.example, ${none}`), /is plain http to another machine/);
  await refused(provider(`url: http://localhost.evil.example, ${none}`), /is plain http to another machine/);
  for (const host of ['localhost', '127.0.0.1:80', '127.1.2.3', '[::1]:8080']) {
    await accepted(provider(`url: "http://${host}/api", ${none}`));
  }
  await accepted(provider(`url: http://provider.example, ${none}, allowHttp: true`));
});

test('an address holds no login, query or other scheme', async () => {
  const extended = ['u@a.example', 'u:p@a.example', 'a.example/?a', 'a.example/#a'].map((part) => `https://${part}`);
  for (const url of [...extended, 'ftp://a.example', 'a.example', '/etc']) {
    const message = /referenceData\.url: .* expected an http\(s\) URL without login/;
    await refused(provider(`url: "${url}", auth: { type: none }`), message);
  }
});

test('no authentication is somebody’s decision, never a default', async () => {
  await refused(provider('url: https://a.example'), /referenceData\.auth: is missing; expected .*\{ type: none \}/);
});

test('a registry may be asked in clear as long as no password or token is sent', async () => {
  await accepted({ schemaRegistry: 'schemaRegistry: { url: http://registry:8081/apis/ccompat/v7 }' });
  await refused(
    {
      schemaRegistry: 'schemaRegistry: { url: http://registry:8081, auth: { type: basic, user: a, password: abcdef } }',
    },
    /schemaRegistry\.url: is plain http to another machine; use https when a password or token is sent/,
  );
  await refused(
    { schemaRegistry: 'schemaRegistry: { url: http://registry:8081, auth: { type: bearer, token: abcdef } }' },
    /schemaRegistry\.url: is plain http to another machine/,
  );
});

test('SASL without TLS is for brokers on this machine, or allowed on purpose', async () => {
  const sasl = 'sasl: { mechanism: plain, username: a, password: abcdef }';
  await refused(
    { kafka: `kafka: { brokers: "127.0.0.1:1,b.example:1", ${sasl} }` },
    /kafka\.sasl: would send the password without encryption/,
  );
  await accepted({ kafka: `kafka: { brokers: "127.0.0.1:1,[::1]:1,localhost:1", ${sasl} }` });
  await accepted({ kafka: `kafka: { brokers: "b.example:1", ssl: true, ${sasl} }` });
  await accepted({ kafka: `kafka: { brokers: "b.example:1", ${sasl.replace(' }', ', allowWithoutTls: true }')} }` });
});

test('each SASL mechanism has what it needs and nothing else', async () => {
  const sasl = (rest: string) => ({ kafka: `kafka: { brokers: "127.0.0.1:1", sasl: { ${rest} } }` });
  const endpoint = 'tokenUrl: https://login.example/token, clientId: me';
  const text = settingsText(sasl('mechanism: plain, username: a, password: abcdef, ca: x.pem'));
  const readFile = async () => String(rootCertificates[0]);
  await assert.rejects(loadSettings({ text, env: {}, readFile }), /sasl\.ca: is not used by plain; remove it/);
  for (const [rest, reason] of [
    ['username: a', /sasl\.mechanism: is missing, although username is set; expected plain/],
    ['mechanism: plain, username: a', /sasl\.password: is missing; plain needs it/],
    ['mechanism: plain, username: a, password: abcdef, clientId: x', /sasl\.clientId: is not used by plain; remove it/],
    ['mechanism: plain, username: a, password: abcdef, scope: kafka', /sasl\.scope: is not used by plain; remove it/],
    ['mechanism: oauthbearer, token: abcdef, username: a', /sasl\.username: is not used by oauthbearer/],
    [`mechanism: oauthbearer, token: abcdef, ${endpoint}`, /sasl\.token: is given in addition to tokenUrl; keep one/],
    ['mechanism: oauthbearer, token: abcdef, scope: kafka', /sasl\.scope: is not used with token; remove it, or set/],
    [
      'mechanism: oauthbearer, token: abcdef, clientAuthentication: private_key_jwt',
      /sasl\.clientAuthentication: is not used with token/,
    ],
    [`mechanism: oauthbearer, ${endpoint}`, /sasl\.clientSecret: is missing; expected the secret/],
    [
      'mechanism: oauthbearer, clientId: me, clientSecret: abcdef, tokenUrl: http://login.example/token',
      /sasl\.tokenUrl: is plain http to another machine; use https/,
    ],
    [
      'mechanism: oauthbearer, token: abcdef, extensions: { auth: x }',
      /sasl\.extensions: found "auth"; expected a name of 1 to 100 letters that is not auth$/,
    ],
    [
      'mechanism: oauthbearer, token: abcdef, extensions: logicalCluster',
      /sasl\.extensions: found no value of "logicalCluster"; expected 1 to 1000 printable/,
    ],
    // No problem follows from a wrong mechanism.
    [`mechanism: kerberos, ${endpoint}, clientSecret: abcdef`, /sasl\.mechanism: found the string "kerberos"/],
  ] as const) {
    await refused(sasl(rest), reason);
  }
  const missing = await problemsIn(settingsText(sasl('mechanism: oauthbearer')));
  assert.match(missing[0] ?? '', /sasl\.tokenUrl: is missing; oauthbearer needs tokenUrl and a client, or tokenFile/);
  assert.match(missing.slice(1).join('\n'), /sasl\.clientId: is missing.*\n.*sasl\.clientSecret: is missing/);
  const accept = async (rest: string) => (await accepted(sasl(rest))).kafka.sasl;
  assert.equal(await accept('mechanism: ""'), null);
  for (const word of ['oauthbearer', 'OAUTHBEARER', 'OAuthBearer']) {
    assert.equal((await accept(`mechanism: ${word}, token: abcdef`))?.mechanism, 'oauthbearer');
  }
  await refused(sasl('mechanism: oauthbearer, token: "Bearer abcdef"'), /sasl\.token: begins with "Bearer "; remove/);
  const given = 'mechanism: oauthbearer, token: abcdef, extensions: ';
  const extensions = { logicalCluster: 'lkc-1', identityPoolId: 'pool=2' };
  assert.deepEqual((await accept(`${given}{ logicalCluster: lkc-1, identityPoolId: pool=2 }`))?.extensions, extensions);
  assert.deepEqual((await accept(`${given}"logicalCluster=lkc-1, identityPoolId=pool=2"`))?.extensions, extensions);
  await refused(
    { kafka: 'kafka: { brokers: "b.example:1", sasl: { mechanism: oauthbearer, token: abcdef } }' },
    /kafka\.sasl: would send the token without encryption/,
  );
});

test('a client of a token endpoint has the secret or the key that its way of authentication needs', async () => {
  const oauth2 = (rest: string) =>
    provider(
      `url: https://a.example, auth: { type: oauth2, tokenUrl: https://a.example/token, clientId: me, ${rest} }`,
    );
  await refused(oauth2('scope: x'), /auth\.clientSecret: is missing; expected the secret/);
  await refused(oauth2('clientAuthentication: private_key_jwt'), /auth\.privateKey: is missing; private_key_jwt signs/);
  await accepted(oauth2('clientSecret: abcdef, clientAuthentication: client_secret_post, audience: a, resource: b'));
});

test('a key that signs is a key for its algorithm', async () => {
  const [rsa, ec, other] = [
    generateKeyPairSync('rsa', { modulusLength: 2_048 }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ].map(({ privateKey }) => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const client = 'clientId: me, tokenUrl: https://a.example, clientAuthentication: private_key_jwt, privateKey: /k';
  for (const [key = '', algorithm, isRight] of [
    [rsa, 'RS256', true],
    [rsa, 'ES256', false],
    [ec, 'es256', true],
    [ec, 'RS256', false],
    [other, 'ES256', false],
    [ec, 'EdDSA', false],
  ] as const) {
    const text = settingsText({
      referenceData: `referenceData: { url: https://a.example, auth: { type: oauth2, ${client}, algorithm: ${algorithm} } }`,
      kafka: `kafka: { brokers: 127.0.0.1:1, sasl: { mechanism: oauthbearer, ${client}, algorithm: ${algorithm} } }`,
    });
    const options = { readFile: async () => key };
    if (isRight) await loadSettings({ text, env: {}, ...options });
    else
      assert.match(
        (await problemsIn(text, options)).join('\n'),
        /^.* referenceData\.auth\.privateKey: is no key for .*; use another key, or set algorithm\n.* kafka\.sasl\.privateKey: is no key for .*$/,
      );
  }
});

test('certificate and key go together', async () => {
  const text = settingsText({ kafka: 'kafka: { brokers: a:1, ssl: { cert: /c.pem } }' });
  const problems = await problemsIn(text, { readFile: async () => 'PEM' });
  assert.match(problems.join('\n'), /kafka\.ssl\.key: is missing: cert and key go together/);
});

test('verification of certificates cannot be switched off', async () => {
  const problems = await problemsIn(settingsText({}), { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  assert.match(
    problems.join('\n'),
    /NODE_TLS_REJECT_UNAUTHORIZED: is 0 in the environment, so any certificate would be accepted/,
  );
});

test('two sources never write one topic, nor share a name', async () => {
  const source = (name: string, rest = '') => `{ name: ${name}, type: instruments${rest} }`;
  const own = (instruments: string) =>
    `, topics: { instruments: ${instruments}, instrument-events: ${instruments}-events }`;
  await refused(
    { sources: `sources: [${source('a', own('own'))}, ${source('b', ', topics: { instruments: own }')}]` },
    /sources\[1\]\.topics\.instruments: writes the topic own, which sources\[0\] uses too/,
  );
  await refused(
    { sources: `sources: [${source('a')}, ${source('b', ', topics: { instruments: own }')}]` },
    /sources\[1\]\.topics\.instrument-events: writes the topic instrument-events, which sources\[0\] uses too/,
  );
  await refused(
    { sources: `sources: [${source('a')}, ${source('a', own('own'))}]` },
    /sources\[1\]\.name: is the name of sources\[0\] too/,
  );
  await refused(
    { sources: `sources: [${source('a', ', topics: { instruments: offsets }')}]` },
    /writes the topic offsets, which topics\.names\.offsets uses too/,
  );
  await refused(
    { sources: `sources: [${source('a', ', topics: { instruments: instrument-events }')}]` },
    /sources\[0\]\.topics\.instrument-events: writes the topic instrument-events, which sources\[0\] uses too/,
  );
  const names = (text: string) => ({ topics: `topics: { names: { ${text} } }` });
  await accepted({
    sources: `sources: [${source('a', own('own'))}]`,
    ...names('instruments: x, instrument-events: x'),
  });
  assert.deepEqual(
    (await problemsIn(settingsText(names('instruments: offsets')))).map((problem) => problem.split(';')[0]),
    ['config/connector.yaml:4:33 topics.names.instruments: is the same topic as topics.names.offsets'],
  );
  const roles = {
    sources: `sources: [${source('a')}]`,
    topics: 'topics: { names: { instrument-events: instruments } }',
  };
  const problems = await problemsIn(settingsText(roles));
  assert.deepEqual(problems.length, 1);
  assert.match(problems[0] ?? '', /topics\.names\.instrument-events: is the same topic as topics\.names\.instruments/);
  const { sources } = await accepted({ sources: `sources: [${source('a')}, ${source('b', own('own'))}]` });
  assert.deepEqual(
    sources.map(({ topics }) => topics),
    [
      { instruments: 'instruments', 'instrument-events': 'instrument-events' },
      { instruments: 'own', 'instrument-events': 'own-events' },
    ],
  );
});

test('events and pre-trade checks stand beside instruments, on topics of their own', async () => {
  const instruments = '{ name: a, type: instruments }';
  await refused(
    { sources: `sources: [${instruments}, { name: b, type: events, eventType: newissue }]` },
    /sources\[1\]\.topics\.instrument-events: writes the topic instrument-events, which sources\[0\] uses too; set another topic/,
  );
  await refused(
    { sources: 'sources: [{ name: a, type: pre-trade-checks, topics: { pre-trade-checks: notifications } }]' },
    /topics\.pre-trade-checks: writes the topic notifications, which topics\.names\.notifications uses too/,
  );
  const events = '{ name: b, type: events, eventType: newissue, topics: { instrument-events: new-issues } }';
  const { sources } = await accepted({
    sources: `sources: [${instruments}, ${events}, { name: c, type: pre-trade-checks }]`,
  });
  assert.deepEqual(
    sources.slice(1).map(({ topics, pollIntervalMs }) => [topics, pollIntervalMs]),
    [
      [{ 'instrument-events': 'new-issues' }, 30_000],
      [{ 'pre-trade-checks': 'pre-trade-checks' }, 45_000],
    ],
  );
});

test('a secret and its file are never both given', async () => {
  await refused(
    provider('url: https://a.example, auth: { type: bearer, token: abcdef, tokenFile: /x }'),
    /referenceData\.auth\.tokenFile: token is set too; keep one of token and tokenFile/,
  );
});
