// Waiting for something to become true: on file events where a folder is named, looking again at
// short intervals otherwise, and giving up loudly at a deadline.
import { watch } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Calls fn until it returns something truthy, and returns that.
 * options: what (words for the message), timeout (ms, default 20000), watch (folders to be woken by).
 */
export async function waitFor(fn, { what = fn.toString(), timeout = 20000, watch: folders = [] } = {}) {
  const end = Date.now() + timeout;
  let wake = () => {};
  const watchers = [].concat(folders).map((folder) => watch(folder, () => wake()));
  let last;
  try {
    for (;;) {
      const event = new Promise((resolve) => { wake = resolve; });
      try {
        const value = await fn();
        if (value) return value;
        last = value;
      } catch (error) {
        last = error;
      }
      if (Date.now() >= end) {
        throw new Error(`not within ${timeout} ms: ${what}; last seen: ${last?.message ?? JSON.stringify(last)}`);
      }
      const timer = new AbortController();
      await Promise.race([event, pause(10, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
  } finally {
    for (const watcher of watchers) watcher.close();
  }
}

/** Runs fn for `ms` and fails as soon as it returns something truthy. Says how long it watched. */
export async function staysFalse(fn, { ms, what = fn.toString() }) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    if (await fn()) throw new Error(`happened while it was watched for ${ms} ms: ${what}`);
    await pause(10);
  }
  return ms;
}
