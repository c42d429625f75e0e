// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { loadSettings, loadSettingsTree } from '../../../src/config/load.ts';
import type { ConnectorError } from '../../../src/errors.ts';
import { problemsIn, settingsText } from './settings-text.ts';

const CANARY = 'canary-7f3a';
const EVERY_SECRET = `
referenceData:
  url: https://provider.example/api
  proxy: http://user:\${CANARY}@proxy.example:3128
  auth: { type: oauth2, tokenUrl: https://provider.example/token, clientId: me, clientSecret: "\${CANARY}" }
kafka:
  brokers: a:1
  ssl: true
  sasl: { mechanism: scram-sha-512, username: me, passwordFile: /run/password }
schemaRegistry:
  url: https://registry.example
  proxy: http://user:\${CANARY}@proxy.example:3128
  auth: { type: basic, user: me, password: "\${CANARY}" }`;

test('a whole file with the environment becomes settings, durations as milliseconds', async () => {
  const text = settingsText({
    referenceData:
      'referenceData: { url: "${URL}", auth: { type: none }, timeout: 250ms, requestsPerSecond: "${RATE}" }',
    kafka: 'kafka: { brokers: "${BROKERS}" }',
    topics: 'topics: { create: "${CREATE}", partitions: 3 }',
    sources: 'sources: [{ name: mine, type: instruments, scope: my, walkInterval: 7d, topics: { instruments: mine } }]',
  });
  const env = {
    URL: 'https://provider.example/api',
    RATE: '2.5',
    BROKERS: 'a:1, [::1]:2,b.example:3',
    CREATE: 'false',
  };
  const settings = await loadSettings({ text, env });
  assert.equal(settings.referenceData.url, env.URL);
  assert.equal(settings.referenceData.timeoutMs, 250);
  assert.equal(settings.referenceData.requestsPerSecond, 2.5);
  assert.deepEqual(settings.kafka.brokers, ['a:1', '[::1]:2', 'b.example:3']);
  assert.equal(settings.kafka.transactionTimeoutMs, 60_000);
  assert.equal(settings.topics.create, false);
  const [source] = settings.sources;
  assert.ok(source?.type === 'instruments');
  const topics = { instruments: 'mine', 'instrument-events': 'instrument-events' };
  assert.deepEqual([source.walkIntervalMs, source.topics], [604_800_000, topics]);
});

test('a wrong type hides neither the other problems of its group nor warnings', async () => {
  const auth = '{ type: oauth, tokenURL: https://a.example/token, clientId: me, clientSecret: secret }';
  const referenceData = `referenceData: { url: https://a.example, auth: ${auth} }`;
  const sources = 'sources: [{ name: mine, type: instruments, deleteOnEventTypes: [repaiment] }]';
  const wrong = settingsText({ referenceData, sources });
  const problems = (await problemsIn(wrong)).map((line) => line.replace(/^\S+ referenceData\.auth\.|; .*/g, ''));
  assert.deepEqual(problems, ['tokenUrl: is missing', 'type: found the string "oauth"', 'tokenURL: unknown setting']);
  const refused = await loadSettings({ text: wrong, env: {} }).catch((error: ConnectorError) => error.fields.warnings);
  const says = /^sources\[0\]\.deleteOnEventTypes: "repaiment" is not/;
  assert.match(String(refused), says);
});

test('secrets can be had, are registered with the log, and are never printed', async () => {
  const reported: string[] = [];
  const settings = await loadSettings({
    text: EVERY_SECRET,
    env: { CANARY },
    readFile: async () => `${CANARY}\n`,
    onSecret: (value) => reported.push(value),
  });
  const { auth } = settings.referenceData;
  assert.equal(auth.type === 'oauth2' && (await auth.clientSecret?.()), CANARY);
  assert.equal(await settings.kafka.sasl?.password?.(), CANARY);
  assert.equal(await settings.referenceData.proxy?.(), `http://user:${CANARY}@proxy.example:3128`);
  assert.deepEqual([...new Set(reported)].sort(), [CANARY, `http://user:${CANARY}@proxy.example:3128`]);
  for (const printed of [JSON.stringify(settings), inspect(settings, { depth: 9 })]) {
    assert.ok(!printed.includes(CANARY));
    assert.ok(printed.includes('[secret in /run/password]'));
  }
});

test('every secret can be a file under its own key with File behind it', async () => {
  const files = `
referenceData:
  url: https://a.example
  auth: { type: oauth2, tokenUrl: https://a.example/token, clientId: me, clientSecretFile: /run/client }
  proxyFile: /run/proxy
marketData:
  url: https://b.example
  auth: { type: apiKey, header: x-key, valueFile: /run/key }
  proxyFile: /run/other-proxy
kafka: { brokers: a:1, ssl: true, sasl: { mechanism: plain, username: me, passwordFile: /run/kafka } }
schemaRegistry: { url: https://r.example, auth: { type: bearer, tokenFile: /run/registry } }
admin: { tokenFile: /run/admin }`;
  const settings = await loadSettings({
    text: files,
    env: {},
    readFile: async (path) => path.replace('/run/', 'http://'),
  });
  const { referenceData, marketData, kafka, schemaRegistry, admin } = settings;
  const { auth } = referenceData;
  assert.ok(auth.type === 'oauth2' && marketData?.auth.type === 'apiKey' && schemaRegistry.auth.type === 'bearer');
  const secrets = [auth.clientSecret, referenceData.proxy, marketData.auth.value, marketData.proxy];
  const read = [...secrets, kafka.sasl?.password, schemaRegistry.auth.token, admin.token].map((secret) => secret?.());
  assert.deepEqual(
    await Promise.all(read),
    ['client', 'proxy', 'key', 'other-proxy', 'kafka', 'registry', 'admin'].map((name) => `http://${name}`),
  );
});

test('a secret or a key that stands where the path of its file was expected is not shown', async () => {
  const key = `-----BEGIN PRIVATE KEY-----\\n${CANARY}\\n-----END PRIVATE KEY-----`;
  const referenceData = `
referenceData:
  url: https://a.example
  auth: { type: bearer, token: "\${TOKEN}" }
  proxyFile: http://user:${CANARY}@proxy.example:3128
  cert: /no/such/file
  key: "\${KEY}"`;
  const problems = await problemsIn(settingsText({ referenceData }), { env: { TOKEN_FILE: CANARY, KEY: key } });
  assert.deepEqual(
    problems.map((problem) => problem.replace(/^\S+ referenceData\./, '')),
    [
      'auth.token: the file cannot be read (ENOENT) (from TOKEN_FILE)',
      'proxyFile: the file cannot be read (ENOENT)',
      'cert: /no/such/file cannot be read (ENOENT)',
      'key: the file cannot be read (ENOENT) (from KEY)',
    ],
  );
});

test('every problem is reported at once, each with its place and what to do', async () => {
  const text = `prefixx: a
referenceData:
  url: \${REFERENCE_DATA_URL}
  auth:
    type: oauth2
    tokenUrl: http://far.example/token
    clientSecret: 12345
    tokenFile: x
  timeout: 30
  requestsPerSecond: soon
kafka:
  brokers: [a, "b:1", "c:999999"]
  ssl: { cas: x }
topics:
  partitions: \${TOPIC_PARTITIONS}
  names: { offsets: dead-letters }
sources:
  - { name: a, type: instruments, walkIntervall: 5m }
  - { name: a, type: instrments, pollInterval: 1 min }
  - { name: d, type: events, walkInterval: 1d }
  - { name: c, type: instruments }
log: { level: "\${LOG_LEVEL}" }
pollInterval: 5s
prices: { catchUp: 1h }
`;
  assert.deepEqual(await problemsIn(text, { env: { LOG_LEVEL: CANARY }, file: 'my.yaml' }), [
    'my.yaml schemaRegistry.url: is missing; expected an http(s) URL without login, query or fragment, like https://registry.example/apis/ccompat/v7',
    'my.yaml:1:1 prefixx: unknown setting; did you mean prefix?',
    'my.yaml:3:8 referenceData.url: REFERENCE_DATA_URL is not set',
    'my.yaml:4:3 referenceData.auth.clientId: is missing; expected text in quotes',
    'my.yaml:6:15 referenceData.auth.tokenUrl: is plain http to another machine; use https, or set referenceData.allowHttp: true (ALLOW_HTTP=true)',
    'my.yaml:7:19 referenceData.auth.clientSecret: found a number; expected the secret as text in quotes, or null',
    'my.yaml:8:5 referenceData.auth.tokenFile: unknown setting; only type bearer has it',
    'my.yaml:9:12 referenceData.timeout: found the number 30; expected a duration from 100ms to 1h: a whole number and ms, s, m, h or d',
    'my.yaml:10:22 referenceData.requestsPerSecond: found the string "soon"; expected a number from 0.01 to 10000',
    'my.yaml:12:13 kafka.brokers[0]: found the string "a"; expected one or more host:port, separated by commas (kafka-1:9092,kafka-2:9092)',
    'my.yaml:12:23 kafka.brokers[2]: found the string "c:999999"; expected one or more host:port, separated by commas (kafka-1:9092,kafka-2:9092)',
    'my.yaml:13:10 kafka.ssl.cas: unknown setting; did you mean ca?',
    'my.yaml:15:15 topics.partitions: TOPIC_PARTITIONS is not set',
    'my.yaml:16:21 topics.names.offsets: is the same topic as topics.names.dead-letters; each needs a different topic',
    'my.yaml:18:35 sources[0].walkIntervall: unknown setting; did you mean walkInterval?',
    'my.yaml:19:5 sources[1].topics.instruments: writes the topic instruments, which sources[0] uses too; set another topic in topics.instruments of this source',
    'my.yaml:19:5 sources[1].topics.instrument-events: writes the topic instrument-events, which sources[0] uses too; set another topic in topics.instrument-events of this source',
    'my.yaml:19:13 sources[1].name: is the name of sources[0] too; choose a different name',
    'my.yaml:19:22 sources[1].type: found the string "instrments"; expected one of instruments, events, pre-trade-checks',
    'my.yaml:19:48 sources[1].pollInterval: found the string "1 min"; expected a duration from 100ms to 1d: a whole number and ms, s, m, h or d',
    'my.yaml:20:5 sources[2].topics.instrument-events: writes the topic instrument-events, which sources[0] uses too; set another topic in topics.instrument-events of this source',
    'my.yaml:20:30 sources[2].walkInterval: unknown setting; only type instruments has it',
    'my.yaml:21:5 sources[3].topics.instruments: writes the topic instruments, which sources[0] uses too; set another topic in topics.instruments of this source',
    'my.yaml:21:5 sources[3].topics.instrument-events: writes the topic instrument-events, which sources[0] uses too; set another topic in topics.instrument-events of this source',
    'my.yaml:22:15 log.level: found the value of LOG_LEVEL; expected one of debug, info, warn, error',
    'my.yaml:23:1 pollInterval: unknown setting; it belongs to sources[n]',
    'my.yaml:24:11 prices.catchUp: unknown setting; it belongs to prices.kinds.daily or prices.kinds.intraday',
  ]);
});

test('a source that is off is not there, for prices neither', async () => {
  const sources = `sources:
  - { name: a, type: instruments, legalCountry: CH }
  - { name: b, type: instruments, legalCountry: DE, enabled: false, topics: { instruments: b, instrument-events: b-events } }`;
  const more = 'marketData: { url: https://m.example }\nprices: { from: [a, b] }';
  const settings = await loadSettings({ text: settingsText({ sources, more }), env: {} });
  assert.deepEqual([settings.sources.map(({ name }) => name), settings.prices.from], [['a'], ['a']]);
  const same = 'sources: [{ name: a, type: instruments }, { name: b, type: instruments, enabled: false }]';
  const url = 'marketData: { url: https://m.example }';
  const priced = await loadSettings({ text: settingsText({ sources: same, more: url }), env: {} });
  assert.deepEqual(priced.prices.from, ['a'], 'its topics and instruments are nobody’s');
  const ofNone = await problemsIn(settingsText({ sources: same, more: `${url}\nprices: { from: [b] }` }));
  assert.match(ofNone.join(), /^[^,]*prices\.from: names only sources that are off; use some of "a"$/);
  const unknown = await problemsIn(settingsText({ sources: same, more: `${url}\nprices: { from: [c] }` }));
  assert.match(unknown.join(), /^[^,]*prices\.from\[0\]: names "c", which is not a source of type instruments$/);
  const off = 'sources: [{ name: a, type: instruments, enabled: false }]';
  assert.match((await problemsIn(settingsText({ sources: off }))).join(), /sources: are all off; enable one$/);
  const none = await problemsIn(settingsText({ sources: 'sources: []' }));
  assert.match(none.join(), /^[^,]*sources: found an empty list; expected a list of 1 to 100 sources$/, 'one error');
});

test('a source cannot have the name of the price processor or of the backfill', async () => {
  for (const [name, owner] of [
    ['prices', 'price processor'],
    ['backfill', 'backfill'],
  ]) {
    const text = settingsText({ sources: `sources: [{ name: ${name}, type: instruments }]` });
    const [problem, ...others] = await problemsIn(text);
    assert.ok(problem?.endsWith(`sources[0].name: is the name of the ${owner}; take another`), problem);
    assert.deepEqual(others, []);
  }
});

test('a secret that stands in the wrong place is not quoted', async () => {
  const problems = await problemsIn(`
referenceData:
  url: https://user:${CANARY}@provider.example
  auth: { type: bearer, token: [${CANARY}], tokenFile: x }
kafka: { brokers: a:1, sasl: { mechanism: plain, username: a, password: { x: ${CANARY} } } }
schemaRegistry: { url: "https://a.example/?key=${CANARY}" }`);
  assert.equal(problems.length, 6);
  assert.ok(!problems.join('\n').includes(CANARY), problems.join('\n'));
});

test('a login in the place of a user is not quoted', async () => {
  const referenceData = `referenceData: { url: "https://a.example", auth: { type: basic, user: "me:${CANARY}", password: x } }`;
  assert.deepEqual(await problemsIn(settingsText({ referenceData })), [
    'config/connector.yaml:1:71 referenceData.auth.user: has a colon; basic authentication cannot send a name with a colon',
  ]);
});

const provider = (rest: string) => ({ referenceData: `referenceData: { url: https://a.example, ${rest} }` });
const kafka = (rest: string) => ({ kafka: `kafka: { brokers: "127.0.0.1:1", ${rest} }` });

test('a wrong value has the lines that help, and no others', async () => {
  const signing = 'type: oauth2, tokenUrl: https://a.example, clientId: a, clientAuthentication: private_key_jwt';
  const second = (topics: string) =>
    `sources: [{ name: a, type: instruments }, { name: b, type: events, topics: ${topics} }]`;
  const hasPath = ['proxy: has a path, query or fragment; remove it'];
  const cases: readonly (readonly [Readonly<Record<string, string>>, readonly string[]])[] = [
    [{ log: 'log: { level: { debug } }' }, ['level: found a group; expected one of debug, info, warn, error']],
    [{ log: 'log: { level: [debug] }' }, ['level: found a list; expected one of debug, info, warn, error']],
    [
      provider('auth: { type: { none } }'),
      ['type: found a group; expected one of oauth2, bearer, basic, apiKey, none'],
    ],
    [
      { kafka: 'kafka: { brokers: [{ a: 1 }] }' },
      [`brokers[0]: found a group; expected one or more host:port, separated by commas (kafka-1:9092,kafka-2:9092)`],
    ],
    [provider('auth: { type: none }, proxy: "http://proxy:3128/x"'), hasPath],
    [provider('auth: { type: none }, proxy: "http://http://proxy:1"'), hasPath],
    [kafka('sasl: { proxy: "http://proxy/?x" }'), hasPath],
    [{ prefix: 'prefix: !env PREFIX' }, ['not YAML: Unresolved tag']],
    [{ prefix: 'prefix: "\ufffd" # \ufffd' }, ['prefix: is not UTF-8; save the file as UTF-8']],
    [{ sources: second('new') }, ['topics: found the string "new"; expected a group of settings: instrument-events']],
    [{ sources: second('[s]') }, ['topics: found a list; expected a group of settings: instrument-events']],
    [
      provider('auth: { type: bearer, token: "é" }'),
      ['token: holds characters that no header can carry; use visible ASCII'],
    ],
    [provider('auth: { type: bearer, tokenFile: }'), ['token: is missing; expected the secret as text in quotes']],
    [provider('auth: { type: bearer, tokenFile: 5 }'), ['tokenFile: found a number; expected the path of a file']],
    [{ admin: 'admin: { tokenFile: [x] }' }, ['tokenFile: found a list; expected the path of a file']],
    [
      kafka('prefix: x, topics: {}'),
      [
        'prefix: unknown setting; it belongs to the top level',
        'topics: unknown setting; it belongs to the top level or sources[n]',
      ],
    ],
    [
      provider('auth: { type: basic, username: u, password: secret }'),
      ['user: is missing; expected text in quotes', 'username: unknown setting; did you mean user?'],
    ],
    [
      provider(`auth: { ${signing}, privateKeyFile: x }`),
      ['privateKeyFile: unknown setting', 'privateKey: is missing; private_key_jwt signs with this key'],
    ],
    [
      { prices: 'prices: { kinds: { intraday: { refreshInterval: 2d } } }' },
      [
        'refreshInterval: found the string "2d"; expected a duration from 1s to 1d: a whole number and ms, s, m, h or d',
      ],
    ],
    [
      { prices: 'prices: { kinds: { daily: { lookBack: 30 } } }' },
      ['lookBack: found the number 30; expected a duration from 1m to 366d: a whole number and ms, s, m, h or d'],
    ],
    [
      provider(`auth: ${CANARY}`),
      ['auth: found a string; expected type and settings, like { type: oauth2, … }, or { type: none }'],
    ],
    [
      kafka(`sasl: "plain,user,${CANARY}"`),
      ['sasl: found a string; expected { mechanism, username, password }, or { mechanism: oauthbearer, … }, or null'],
    ],
    [{ kafka: `kafka: ${CANARY}` }, ['kafka: found a string; expected a group of settings']],
  ];
  for (const [parts, expected] of cases) {
    const lines = (await problemsIn(settingsText(parts))).map((line) =>
      line.replace(/^\S+ ([\w[\]]+\.)*|; known here: .*/g, ''),
    );
    assert.deepEqual(lines, expected);
  }
});

test('an empty path of a file means no file', async () => {
  for (const rest of ['admin: { tokenFile: }', 'admin: { tokenFile: "${FILE:-}" }', 'marketData: { proxyFile: null }'])
    assert.equal((await loadSettings({ text: settingsText({ rest }), env: {} })).admin.token, null);
  const rest = 'admin: { token: "token-of-admin", tokenFile: "${FILE:-}" }';
  assert.equal(await (await loadSettings({ text: settingsText({ rest }), env: {} })).admin.token?.(), 'token-of-admin');
});

test('an exception of the proxy that can match no host is a warning, if there is a proxy', async () => {
  const right = '*,localhost,.a.example,*.a.example:443,10.0.0.7:80,10.0.0.0/32,::1,[::1],[::1]:8443,fd00::/128,p.';
  const wrong = ['10.*', 'p.*', '10.0.0.0/33', '[fe80::]/10', 'p.example/rd', 'p:99999', '*p.example', '[p]'];
  const warned = async (proxy: string) => {
    const own = `auth: { type: none }, ${proxy}noProxy: "${right}, ${wrong.join(', ')}"`;
    const { warnings } = await loadSettingsTree({ text: settingsText(provider(own)), env: {} });
    return warnings.map((line) => /^referenceData\.noProxy: "(.*)" can match no host/.exec(line)?.[1]);
  };
  assert.deepEqual(await warned('proxy: "http://p:1", '), wrong);
  assert.deepEqual(await warned(''), []);
});

test("a company's NO_PROXY is taken as it is, ranges of addresses among it", async () => {
  const NO_PROXY = 'localhost,127.0.0.1,.corp.example,10.0.0.0/8,fd00::/8,svc:8443';
  const referenceData =
    'referenceData: { url: "https://provider.example/api", auth: { type: none }, noProxy: "${NO_PROXY}" }';
  const settings = await loadSettings({ text: settingsText({ referenceData }), env: { NO_PROXY } });
  assert.deepEqual(settings.referenceData.noProxy, NO_PROXY.split(','));
  const [problem = ''] = await problemsIn(settingsText({ referenceData }), { env: { NO_PROXY: 'http://a.example' } });
  assert.match(problem, /noProxy: .*; expected hosts without a scheme, separated by commas/);
});

test('a second document in the file is refused, not passed over', async () => {
  const problems = await problemsIn(`prefix: a\n---\nprefix: ${CANARY}\n`);
  assert.deepEqual(problems, ['config/connector.yaml:2:1 a second document begins here; remove it']);
});

test('broken YAML is reported by its place, without its text', async () => {
  const begun = [`a: b: ${CANARY}`, `a: [${CANARY}`, `a: @${CANARY}`, `a: |${CANARY}`, `a: *${CANARY}`];
  const others = [`a: "${CANARY}\nb: 1`, `a: 1\na: ${CANARY}`, `a: "x" ${CANARY}`, `{ a: \${${CANARY}} }`];
  for (const text of [...begun, ...others]) {
    const problems = await problemsIn(text);
    assert.match(problems.join('\n'), /^config\/connector\.yaml:\d+:\d+ (a: )?not YAML: /m);
    assert.ok(!problems.join('\n').includes(CANARY), problems.join('\n'));
  }
});

test('one wrong character is one error, and each repeated key is one', async () => {
  const problems = await problemsIn('a: { url: ${B} }\nprefix: x\nc: { url: ${D} }\n');
  assert.deepEqual(problems.length, 1, problems.join());
  assert.match(
    problems.join(),
    /^config\/connector\.yaml:1:\d+ not YAML: .*a reference to the environment needs quotes$/,
  );
  assert.equal((await problemsIn('a: 1\na: 2\nb: 1\nb: 2\n')).length, 2);
});

test('a file of aliases that grow, or without end, is refused quickly', async () => {
  const levels = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(9)}]`);
  assert.match((await problemsIn(`l0: &l0 [a]\n${levels.join('\n')}`)).join('\n'), /more than 10000 values/);
  assert.match((await problemsIn('a: &a { b: *a }')).join('\n'), /20 levels/);
});

test('a text that is too long, or is no text, gets what is missing', async () => {
  const found = async (changes: Parameters<typeof settingsText>[0]) =>
    (await problemsIn(settingsText(changes))).map((problem) => problem.replace(/^\S+ /, ''));
  const prefix = 'prefix: found a string; expected 1 to 150 letters, digits, dots, - and _';
  assert.deepEqual(await found({ prefix: `prefix: ${'a'.repeat(151)}` }), [prefix]);
  const quoted = 'prefix: found the number 5; expected 1 to 150 letters, digits, dots, - and _, in quotes';
  assert.deepEqual(await found({ prefix: 'prefix: 5' }), [quoted]);
  const sources = 'sources: [{ name: a, type: instruments, pollInterval: 0s }]';
  assert.match((await found({ sources })).join(), /pollInterval: found the string "0s"; .* ms, s, m, h or d$/);
  const host = 'admin.host: found the string "0.0.0.0:8083"; expected an address of this machine without a port';
  const [wrong = ''] = await found({ admin: 'admin: { host: "0.0.0.0:8083" }' });
  assert.ok(wrong.startsWith(host), wrong);
});

test('a type may be in upper or lower case', async () => {
  const referenceData =
    'referenceData: { url: "https://a.example", auth: { type: BASIC, user: me, password: abcdef } }';
  const sources = 'sources: [{ name: a, type: Instruments }]';
  const settings = await loadSettings({ text: settingsText({ referenceData, sources }), env: {} });
  assert.deepEqual([settings.referenceData.auth.type, settings.sources[0]?.type], ['basic', 'instruments']);
  const unknown = sources.replace('Instruments', 'Instruments, walkIntervall: 1d');
  const [problem = ''] = await problemsIn(settingsText({ referenceData, sources: unknown }));
  assert.ok(problem.endsWith('walkIntervall: unknown setting; did you mean walkInterval?'), problem);
});

test('a setting of another type names the variable that sets it, and the variable of the type', async () => {
  const schemaRegistry = [
    'schemaRegistry:',
    '  url: http://127.0.0.1:8081',
    '  auth: { type: "${REGISTRY_AUTH:-none}", user: "${REGISTRY_USER:-}" }',
  ].join('\n');
  const [problem = ''] = await problemsIn(settingsText({ schemaRegistry }), { env: { REGISTRY_USER: 'me' } });
  const says = 'auth.user: unknown setting; only type basic has it (from REGISTRY_USER; REGISTRY_AUTH sets the type)';
  assert.ok(problem.endsWith(says), problem);
});
