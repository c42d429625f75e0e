/** The fields of a line for people: `source=instruments rows=1000`, without those that have no value. */
export function factsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ');
}

function valueText(value: unknown): string {
  if (isError(value)) return errorText(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && !/^[^\s"=]+$/.test(text) ? JSON.stringify(text) : text;
}

interface LoggedError {
  readonly type: unknown;
  readonly message: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly action?: unknown;
  readonly fields?: object;
}

function isError(value: unknown): value is LoggedError {
  return typeof value === 'object' && value !== null && 'message' in value && 'type' in value;
}

function errorText(error: LoggedError): string {
  const { type, code = type, message, cause, action: _, fields, ...others } = error;
  const because = isError(cause) ? ` (because of ${errorText(cause)})` : '';
  return `${code}: ${message} ${factsText({ ...fields, ...others })}`.trimEnd() + because;
}
