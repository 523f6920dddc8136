// The logbook as people and scripts read it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, eachZoo, assert, waitFor } from './lib/index.mjs';

const brief = (e) => [e.verb, e.state, e.outcome, e.branch];

test('verbs are told, the newest last', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const { path, branch } = await s.ok(['start', 'one', '--exact']);
  r.commit({ x: '1' }, 'x', { cwd: path });
  await s.ok(['done'], { cwd: path });
  const { events } = await s.ok(['log']);
  assert.deepEqual(events.at(0).verb, 'start');
  assert.deepEqual(brief(events.at(-1)), ['done', 'ended', 'ok', branch]);
  const done = events.at(-1);
  assert.ok(done.ended_at >= done.begun_at && done.duration_ms >= 0 && done.waited_ms >= 0);
  assert.equal(done.surface, 'cli');
  const lines = (await s.abide(['log'])).stdout.trimEnd().split('\n');
  assert.match(lines[0], /^BEGUN +VERB +BRANCH +OUTCOME +TOOK/);
  assert.match(lines.at(-1), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +done +\S+ +ok +\d/);
  assert.equal((await s.ok(['log', '--limit', '1'])).events.length, 1);
});

test('a task\'s events alone, by id, branch, path, and after the task is gone', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const a = await s.ok(['start', 'a', '--exact']);
  const b = await s.ok(['start', 'b', '--exact']);
  for (const t of [a, b]) {
    r.commit({ [t.id]: '1' }, 'x', { cwd: t.path });
    await s.ok(['done'], { cwd: t.path });
  }
  for (const word of ['a', a.branch, `refs/heads/${a.branch}`, a.path]) {
    const d = await s.ok(['log', word]);
    assert.equal(d.branch, a.branch);
    assert.ok(d.events.length >= 1 && d.events.every((e) => e.branch === a.branch), word);
  }
  assert.deepEqual((await s.ok(['log', '--branch', b.branch])).branch, b.branch);
  r.git(['worktree', 'remove', a.path]);
  r.git(['branch', '-D', a.branch]);
  assert.equal((await s.ok(['log', 'a'])).branch, a.branch);
});

test('what nothing is known of is refused', async (s) => {
  await s.repo();
  for (const args of [['nope'], ['--branch', 'nope'], ['--branch', '..'], ['x\u001b[31m'], ['']]) {
    await s.refused(['log', ...args], 'unknown_target');
  }
  assert.equal((await s.abide(['log', '--', '-rf'])).code, 1);
  await s.refused(['log', 'a', '--branch', 'b'], 'invalid_arguments');
  await s.refused(['log', '--limit', '0x'], 'invalid_arguments');
  await s.refused(['log', '--limit', '-1'], 'invalid_arguments');
});

eachZoo('log works in every repository and makes no store', async (s, r) => {
  assert.deepEqual((await s.ok(['log'])).events, []);
  assert.match((await s.abide(['log'])).stdout, /Nothing recorded/);
  assert.ok(!r.hasStore());
});

test('a verb in flight is told as running, one whose process died as interrupted', async (s) => {
  const r = await s.repo();
  r.worktree('b');
  const p = s.spawnAbide(['await', '--landed', 'b', '--json']);
  await p.idle();
  assert.deepEqual(brief((await s.ok(['log'])).events.at(-1)), ['await', 'running', undefined, 'main']);
  assert.equal((await s.ok(['log'])).events.at(-1).about, 'landed b');
  p.kill('SIGKILL');
  await p.done();
  assert.equal((await s.ok(['log'])).events.at(-1).state, 'interrupted');
  assert.match((await s.abide(['log'])).stdout, /interrupted/);
});

test('a refusal is told with its slug', async (s) => {
  await s.repo();
  await s.refused(['await', '--landed', 'nope'], 'unknown_target');
  const e = (await s.ok(['log'])).events.at(-1);
  assert.deepEqual([e.verb, e.outcome], ['await', 'unknown_target']);
});

test('with `logbook: false` nothing is recorded, and that is said', async (s) => {
  const r = await s.repo({ yaml: 'logbook: false\n' });
  r.worktree('b');
  await s.ok(['await', '--landed', 'b', '--timeout', '0'], { code: 124 });
  const e = (await s.abide(['log', '--json'])).json;
  assert.deepEqual(e.data.events, []);
  assert.match(e.warnings[0], /logbook: false/);
});

test('--follow tells begin and end, one object a line, and ends on SIGINT', async (s) => {
  const r = await s.repo();
  r.worktree('b');
  // It begins before there is a store at all.
  const p = s.spawnAbide(['log', '--follow', '--json']);
  await p.idle();
  await s.ok(['await', '--landed', 'b', '--timeout', '0'], { code: 124 });
  await p.line('"outcome":"ok"');
  await s.refused(['await', '--landed', 'nope'], 'unknown_target');
  await p.line('"outcome":"unknown_target"');
  p.kill('SIGINT');
  const { code, stderr } = await p.done({ stream: true });
  assert.equal(code, 130);
  assert.equal(stderr, '');
  const ends = p.jsonLines().filter((e) => e.state === 'ended');
  assert.deepEqual(ends.map((e) => [e.verb, e.outcome]), [['await', 'ok'], ['await', 'unknown_target']]);
  for (const e of ends) assert.ok(p.jsonLines().filter((x) => x.id === e.id).length <= 2);
});

test('--follow of one branch leaves out the others', async (s) => {
  const r = await s.repo();
  const [a, b] = ['a', 'b'].map((n) => r.worktree(n));
  const ask = (cwd) => s.ok(['await', '--landed', 'b', '--timeout', '0'], { code: 124, cwd });
  await ask(a);
  const p = s.spawnAbide(['log', 'a', '--follow']);
  await p.line(/await +a /);
  await p.idle();
  await ask(b);
  await ask(a);
  await waitFor(() => p.stdout().trimEnd().split('\n').filter((l) => /await +a +ok/.test(l)).length >= 2);
  assert.doesNotMatch(p.stdout(), /await +b /);
  p.kill('SIGTERM');
  assert.equal((await p.done()).code, 143);
});

test('a store that is gone is an empty logbook', async (s) => {
  const r = await s.repo();
  r.worktree('b');
  await s.ok(['await', '--landed', 'b', '--timeout', '0'], { code: 124 });
  rmSync(join(r.gitDir, 'abide'), { recursive: true });
  assert.deepEqual((await s.ok(['log'])).events, []);
});
