import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConnectorError } from '../../src/errors.ts';
import { type AdminScene, makeReady, startAdminScene } from '../support/connectors/admin-scene.ts';
import { type BrowserPage, startBrowser } from '../support/runner/browser.ts';
import { findChromium } from '../support/runner/chromium.ts';
import { eventually } from '../support/runner/eventually.ts';

const SCREENS = {
  'light-wide': { scheme: 'light', width: 1_280, height: 900, back: 'rgb(246, 247, 249)' },
  'dark-wide': { scheme: 'dark', width: 1_280, height: 900, back: 'rgb(15, 20, 25)' },
  'light-phone': { scheme: 'light', width: 360, height: 740, back: 'rgb(246, 247, 249)' },
  'light-phone-390': { scheme: 'light', width: 390, height: 844, back: 'rgb(246, 247, 249)' },
  'dark-phone': { scheme: 'dark', width: 320, height: 640, back: 'rgb(15, 20, 25)' },
};
/** Least contrast of text on its background that WCAG 2 AA asks for. */
const LEAST_CONTRAST = 4.5;

/** A connector of which there is much to show, long words among it. */
function makeEventful(scene: AdminScene): void {
  const { board, operator } = scene;
  makeReady(scene);
  const source = 'instruments';
  const long = 'a-word-without-any-place-to-break-it-'.repeat(8);
  const cause = new Error(`${long} <script>document.title = 'broken in'</script>`);
  board.events.sourceFailed({ source: 'checks', err: new ConnectorError('OFFSET_UNREADABLE', long, { cause }) });
  const walk = { walk: 1, resumed: false, pages: 2, rows: 20_000, added: 1, corrected: 0, unchanged: 2, reEncoded: 0 };
  board.events.walkStarted({ source, walk: 1, since: '1-1', why: 'first', waitMs: 0 });
  board.events.walkCompleted({ source, ...walk, gone: 4, deadLetters: 2, durationMs: 5 } as never);
  board.events.walkStarted({ source, walk: 2, since: '1-1', why: 'due', waitMs: 0 });
  board.events.pageCommitted({ source, page: 9, rows: 9_000, records: 12, deadLetters: 1 } as never);
  const near = { since: '1-1', secondsToRetentionCliff: 50_000, rows: 0, caughtUp: false, durationMs: 1 };
  board.events.polled({ source, ...near, endpoint: 'events' });
  const failure = new ConnectorError('PROVIDER_BUSY', 'The provider answered with 503.');
  board.events.attemptFailed({ source, failures: 4, waitMs: 30_000, err: failure });
  for (const kind of ['gapSuspected', 'shrinkRefused'] as const) board.events.notified({ source, kind, text: long });
  const ages = { ageP50Ms: 30_000, ageP99Ms: 61_000, ageMaxMs: 90_000, ages: AGES };
  const states = { priced: 19_000, waiting: 900, repaid: 95, failing: { none: 5 } };
  const overview = { kind: 'overview', ...states, ...ages, overdue: 12, pulled: 2 } as const;
  const kinds = [overview, { ...overview, kind: 'daily' }] as const;
  const freshness = () => ({ ...overview, kinds, instruments: 20_000, unreadable: 1, unansweredInputs: 0, lag: 7 });
  board.events.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness });
  board.events.processorJoined({ partitions: 1 });
  for (let minute = 0; minute < 7; minute++) {
    board.events.streamCommitted({ source, items: 3 * minute, deadLetters: 0 } as never);
    scene.now += 60_000;
  }
  operator.wants('instruments', { state: 'paused' });
}

/** Instruments up to each age: most prices of a minute, and a few that are older than a day. */
const AGES = [
  [1, 700],
  [2, 1_500],
  [5, 4_100],
  [10, 8_300],
  [20, 16_700],
  [30, 25_000],
  [45, 37_400],
  [60, 49_800],
  [90, 49_860],
  [120, 49_860],
  [Number.POSITIVE_INFINITY, 49_871],
].map(([seconds = 0, instruments = 0]) => ({ atMostMs: seconds * 1_000, instruments }));

const NOTHING_DEAD = { answered: 1, deadLetters: 0, deadLettersOfRepaid: 0 };

/** Hours with a busy opening, a calm noon and a pause. */
function writeForHours(scene: AdminScene, minutes: number): void {
  const { board } = scene;
  for (let minute = 0; minute < minutes; minute++) {
    const wave = Math.abs(Math.sin(minute / 37)) + Math.abs(Math.sin(minute * 2.4)) / 3;
    const events = minute > 150 && minute < 165 ? 0 : Math.round(14 * wave);
    board.events.streamCommitted({ source: 'instruments', items: events, deadLetters: 0 } as never);
    if (minute % 4 === 0) board.events.streamCommitted({ source: 'checks', items: 1, deadLetters: 0 } as never);
    board.events.batchPriced({ ...NOTHING_DEAD, records: 49_871 - (minute % 7) * 900 } as never);
    scene.now += 60_000;
  }
}

/** A connector on a usual day, as the README shows it. */
function makeUsual(scene: AdminScene): void {
  const { board } = scene;
  makeReady(scene);
  const source = 'instruments';
  const rows = { rows: 50_000, added: 24, corrected: 0, unchanged: 49_976, reEncoded: 0, gone: 19, deadLetters: 0 };
  board.events.walkStarted({ source, walk: 41, since: '5-1', why: 'due', waitMs: 0 });
  board.events.pageCommitted({ source, page: 50, rows: 50_000, records: 24, deadLetters: 0 } as never);
  board.events.walkCompleted({ source, walk: 41, resumed: false, pages: 50, ...rows, durationMs: 21_000 } as never);
  const ages = { ageP50Ms: 30_000, ageP99Ms: 60_000, ageMaxMs: 62_000, ages: AGES };
  const overview = {
    kind: 'overview',
    priced: 49_760,
    waiting: 0,
    repaid: 111,
    ...ages,
    overdue: 0,
    pulled: 12,
    failing: { none: 129 },
  } as const;
  const freshness = () => ({
    ...overview,
    kinds: [overview],
    instruments: 50_000,
    unreadable: 0,
    unansweredInputs: 0,
    lag: 0,
  });
  board.events.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness });
  board.events.processorJoined({ partitions: 6 });
  for (let partition = 0; partition < 6; partition++) {
    board.events.partitionAssigned({ partition, offset: 0n, instruments: 8_333, durationMs: 900 } as never);
  }
  writeForHours(scene, 5 * 60);
  board.events.streamCommitted({ source, items: 1, deadLetters: 1 } as never);
  board.events.batchPriced({ ...NOTHING_DEAD, records: 21_903, deadLetters: 129 } as never);
  for (const name of [source, 'checks']) {
    const place = { since: '1772377200000-4', secondsToRetentionCliff: 604_700, caughtUp: true, durationMs: 12 };
    const next = name === source ? { secondsToNextWalk: 68_400 } : {};
    board.events.polled({ source: name, ...place, ...next, rows: 0, endpoint: 'events' });
  }
  scene.now += 4_000;
}

test('the status page of a usual day fits its screen; STATUS_PAGE_PICTURE names the file that takes the picture', async (t) => {
  const chromium = await findChromium();
  if (chromium === null) {
    t.skip('SKIPPED, no Chromium');
    return;
  }
  const scene = await startAdminScene(t, { prefix: 'structured-products' });
  makeUsual(scene);
  const page = await startBrowser(t, chromium);
  const screen = { width: 1_280, height: 700, deviceScaleFactor: 1, mobile: false };
  await page.call('Emulation.setDeviceMetricsOverride', screen);
  await page.open(`${scene.server.url}/`);
  assert.deepEqual(await page.evaluate(TOO_WIDE), []);
  assert.match(await page.evaluate('document.body.innerText'), /49,871/);
  assert.deepEqual(await page.evaluate(NARROW), [], 'charts and a single notification are as wide as their card');
  const sizes =
    "['.chart text', 'dd', '.soft'].map((one) => parseFloat(getComputedStyle(document.querySelector(one)).fontSize))";
  const [chart = 0, prose = 0, soft = 0] = await page.evaluate(sizes);
  assert.ok(chart < prose && chart < soft, `${chart} in charts`);
  for (const domain of ['DOM', 'CSS']) await page.call(`${domain}.enable`);
  const { root } = await page.call('DOM.getDocument');
  const faceOf = async (selector: string) => {
    const { nodeId } = await page.call('DOM.querySelector', { nodeId: root.nodeId, selector });
    const { fonts } = await page.call('CSS.getPlatformFontsForNode', { nodeId });
    return fonts.map(({ familyName }: { familyName: string }) => familyName);
  };
  for (const selector of ['dd', 'p, .text', 'li span']) assert.deepEqual(await faceOf(selector), await faceOf('h1'));
  assert.doesNotMatch(String(await faceOf('dd')), /serif|mono/i);
  assert.match(String(await faceOf('code span')), /mono/i);
  const { STATUS_PAGE_PICTURE: file } = process.env;
  if (!file) return;
  const height = await page.evaluate('document.documentElement.scrollHeight');
  const clip = { x: 0, y: 0, width: screen.width, height, scale: 1 };
  const { data } = await page.call('Page.captureScreenshot', { captureBeyondViewport: true, clip });
  await writeFile(file, Buffer.from(data, 'base64'));
});

test('the status page is readable by day and night, on a desk and a phone, and loads nothing else', async (t) => {
  const chromium = await findChromium();
  if (chromium === null) {
    const how = 'install one (apt-get install chromium-headless-shell) or name it in CHROMIUM';
    t.skip(`SKIPPED, no Chromium: ${how}`);
    return;
  }
  const scene = await startAdminScene(t);
  makeEventful(scene);
  const page = await startBrowser(t, chromium);
  for (const [name, screen] of Object.entries(SCREENS)) {
    const { scheme: value, width, height, back } = screen;
    await page.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
    await page.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    await page.open(`${scene.server.url}/`);
    assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), back, name);
    const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    assert.equal(await page.evaluate(beyond), 0, `${name} scrolls sideways`);
    assert.equal(await page.evaluate('innerWidth'), width, `${name} is zoomed out`);
    assert.deepEqual(await page.evaluate(TOO_WIDE), [], name);
    assert.deepEqual(await page.evaluate(OUT_OF_CARD), [], name);
    const weak = ((await page.evaluate(CONTRASTS)) as [string, number][]).filter(([, ratio]) => ratio < LEAST_CONTRAST);
    assert.deepEqual(weak, [], `${name}: text that is hard to read`);
    await assertReadAloud(page, name);
    const { SCREENSHOTS } = process.env;
    if (SCREENSHOTS) {
      const { data } = await page.call('Page.captureScreenshot', { captureBeyondViewport: true });
      await mkdir(SCREENSHOTS, { recursive: true });
      await writeFile(join(SCREENSHOTS, `${name}.png`), Buffer.from(data, 'base64'));
    }
  }
  assert.match(await page.evaluate('document.title'), /^● p<q/);

  const requests = () =>
    page.events.filter(({ method }) => method === 'Network.requestWillBeSent').map(({ params }) => params.request.url);
  const opened = requests().length;
  const asked = () => requests().length;
  await eventually('it asks for itself again', asked, (count) => count > opened);
  const elsewhere = requests().filter((url) => url !== `${scene.server.url}/` && !url.startsWith('data:'));
  assert.deepEqual(elsewhere, []);
  const complaints = page.events.filter(({ method }) =>
    ['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'].includes(method),
  );
  assert.deepEqual(complaints, []);
});

/** Every drawing is one image to a screen reader, and says what it shows. */
async function assertReadAloud(page: BrowserPage, name: string): Promise<void> {
  const { nodes } = await page.call('Accessibility.getFullAXTree');
  const images = nodes.filter(({ role }: { role?: { value: string } }) => /^(image|img)$/.test(role?.value ?? ''));
  const spoken = images.map((node: Record<'name' | 'description', { value?: string } | undefined>) => [
    node.name?.value ?? '',
    node.description?.value ?? '',
  ]);
  assert.ok(spoken.length >= 5, `${name}: ${JSON.stringify(spoken)}`);
  assert.equal(spoken.length, await page.evaluate("document.querySelectorAll('svg').length"));
  for (const [title, text] of spoken) assert.ok(title.length > 5 && text.length > 5, `${name}: ${title}: ${text}`);
}

/** Elements that reach beyond the screen. */
const TOO_WIDE = `[...document.querySelectorAll('main *')]
  .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((element) => element.outerHTML.slice(0, 100))`;

/** Drawings and notifications that do not fill what they stand in. */
const NARROW = `[...document.querySelectorAll('.chart, .news li')]
  .filter((element) => element.getBoundingClientRect().width < element.parentElement.getBoundingClientRect().width - 0.5)
  .map((element) => element.outerHTML.slice(0, 100))`;

/** Elements that reach beyond the card that they stand in. */
const OUT_OF_CARD = `[...document.querySelectorAll('.card *')]
  .filter((element) => element.getBoundingClientRect().right > element.closest('.card').getBoundingClientRect().right + 0.5)
  .map((element) => element.outerHTML.slice(0, 100))`;

/** Each element with text of its own, with the contrast of its colour to what lies behind it. */
const CONTRASTS = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return channels(colour)[3] === 0 ? behind(element.parentElement) : colour;
  };
  return [...document.querySelectorAll('main *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
    .map((element) => {
      const [light, dark] = [getComputedStyle(element).color, behind(element)].map(luminance).sort((a, b) => b - a);
      return [element.textContent.slice(0, 40), (light + 0.05) / (dark + 0.05)];
    });
})()`;
