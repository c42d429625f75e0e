import { untilAborted } from '../../support/until-aborted.ts';

/**
 * One request at a time for all callers. A caller that stops waiting does not disturb the others; when no caller waits any
 * more the request is cut.
 */
export function shareRequest<T>(send: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let current: { readonly result: Promise<T>; readonly controller: AbortController; waiting: number } | undefined;

  function start() {
    const controller = new AbortController();
    const started = { result: send(controller.signal), controller, waiting: 0 };
    const clear = () => {
      if (current === started) current = undefined;
    };
    started.result.then(clear, clear);
    return started;
  }

  return async (signal) => {
    current ??= start();
    const joined = current;
    joined.waiting += 1;
    try {
      return await untilAborted(joined.result, signal);
    } finally {
      joined.waiting -= 1;
      if (joined.waiting === 0) {
        if (current === joined) current = undefined;
        joined.controller.abort(new Error('no caller waits for the token any more'));
      }
    }
  };
}
