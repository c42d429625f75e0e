/** Why a record was written: the type of its event, as the provider names it. Consumers filter by it without decoding. */
const EVENT_TYPE = 'spc-event-type';
/** A type is a code word. A longer one stays in the value alone: the limit of a topic counts headers too. */
const LONGEST_TYPE = 100;

type Headers = Readonly<Record<string, string>>;

/**
 * The headers of the records of an event, by its type: those of its response and one more. Events of the same type get
 * the same object, so that it is encoded once for all that stand beside each other.
 */
export function eventHeaders(common: Headers): (event: { readonly type: string | null }) => Headers {
  const byType = new Map<string, Headers>();
  return ({ type }) => {
    if (type === null || type.length > LONGEST_TYPE) return common;
    const known = byType.get(type);
    if (known !== undefined) return known;
    const headers = { ...common, [EVENT_TYPE]: type };
    byType.set(type, headers);
    return headers;
  };
}
