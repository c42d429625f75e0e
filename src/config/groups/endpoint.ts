import { isLoopback } from '../../support/loopback.ts';
import type { Report } from '../cross-check.ts';
import type { SettingPath } from '../problem.ts';
import { text } from '../setting.ts';

/** A base URL without credentials, query or fragment: so that it can be shown, and paths can be appended. */
export const baseUrl = (example: string) =>
  text(`an http(s) URL without login, query or fragment, like ${example}`).refine(isBaseUrl);

function isBaseUrl(value: string): boolean {
  const url = parsed(value);
  if (!url || !/^https?:\/\//.test(value) || /[?#\s]/.test(value)) return false;
  return url.username === '' && url.password === '';
}

/** Plain http is for this machine only: on any network between, records and credentials could be read and changed. */
export function requireTls(value: unknown, path: SettingPath, remedy: string, report: Report): void {
  const url = parsed(value);
  if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return;
  report(path, `is plain http beyond this machine; ${remedy}`);
}

function parsed(value: unknown): URL | undefined {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
}
