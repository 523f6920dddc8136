// What tests import. See the end-to-end section of AGENTS.md for the shape of a test.
import { test as nodeTest } from 'node:test';
import { basename } from 'node:path';
import { Sandbox, abideBin, fileTreeDigest, root } from './sandbox.mjs';

export { default as assert } from 'node:assert/strict';
export { Sandbox, abideBin, fileTreeDigest, root };
export { staysFalse, waitFor } from './wait.mjs';
export { Child, alive, children, lacksNamespaces, processesWith, pss, wraps } from './process.mjs';
export { Repo, gateYaml } from './repo.mjs';
export { zoo } from '../zoo/index.mjs';

import { zoo } from '../zoo/index.mjs';

const topic = basename(process.argv[1] ?? 'test').replace(/\.test\.mjs$/, '');

/**
 * A test with its own sandbox: fn(s). When it fails, what was run and what came back is told; when
 * processes or temporary files are left behind, it fails. options: timeout (ms), skip, grace (ms that
 * processes may take to end), and what node:test takes.
 */
export function test(name, options, fn) {
  if (typeof options === 'function') [options, fn] = [{}, options];
  const { grace, timeout = 120000, ...rest } = options;
  // The file stands in the name: the place that node:test sees is this line.
  return nodeTest(`${topic}: ${name}`, rest, async (t) => {
    const s = new Sandbox(t);
    let failure = null;
    let transcript = '';
    let timer;
    try {
      await Promise.race([
        fn(s),
        new Promise((_, reject) => {
          timer = setTimeout(() => reject(new Error(`the test took more than ${timeout} ms`)), timeout);
        }),
      ]);
    } catch (error) {
      failure = error ?? new Error('the test threw nothing');
      transcript = s.transcript();
    } finally {
      clearTimeout(timer);
    }
    const last = failure ? '' : s.transcript();
    const left = await s.close({ grace });
    if (failure === null && left.length === 0) return;
    const why = failure?.stack ?? failure?.message ?? '';
    const error = new Error(failure?.message ?? 'the test left something behind');
    error.stack = [why || error.message, ...left, '-- what was run --', transcript || last].filter(Boolean).join('\n');
    throw error;
  });
}

/** Registers one test for each repository of the zoo: fn(s, repo, animal). options.only: names. */
// Every kind takes its turn in a third of these tests; ABIDE_TEST_ZOO=all: every kind in each.
const wholeZoo = process.env.ABIDE_TEST_ZOO === 'all';
let zooTests = 0;

export function eachZoo(name, options, fn) {
  if (typeof options === 'function') [options, fn] = [{}, options];
  const { only, except = [], ...rest } = options;
  const turn = zooTests++ + basename(process.argv[1]).length;
  for (const [i, animal] of zoo.entries()) {
    if (!wholeZoo && (i + turn) % 3 !== 0) continue;
    if ((only && !only.includes(animal.name)) || except.includes(animal.name)) continue;
    const skip = rest.skip || animal.skip?.() || false;
    test(`${name} [${animal.name}]`, { ...rest, skip }, async (s) => {
      const repo = await s.repo({ zoo: animal.name });
      await fn(s, repo, animal);
    });
  }
}
