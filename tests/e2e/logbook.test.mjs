// What status knows from the store: proofs, what is in flight, who waits for what.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, assert, waitFor, wraps, lacksNamespaces } from './lib/index.mjs';

const row = (data, id) => data.tasks.find((t) => t.id === id || t.branch === id);
const status = async (s, id) => row(await s.ok(['status']), id);
/** The store's database, opened by the test. */
const db = (r) => new DatabaseSync(join(r.gitDir, 'abide', 'state.db'));

test('a proof is honoured, stale after a commit, red after a failure', async (s) => {
  const r = await s.repo({ gate: { check: 'test ! -e bad', fine: 'true' } });
  const { path } = await s.ok(['start', 't', '--exact']);
  assert.equal((await status(s, 't')).proof.status, 'missing');
  const tip = r.commit({ x: '1' }, 'x', { cwd: path });
  await s.ok(['done'], { cwd: path });
  let t = await status(s, 't');
  assert.deepEqual([t.proof.status, t.proof.commit], ['honoured', tip]);
  assert.ok(t.proof.finished_at > 1.5e12);
  assert.equal(t.owned, true);
  assert.ok(t.port > 0);
  assert.match((await s.abide(['status'])).stdout, /\+1 +clean +green/);
  assert.match((await s.abide(['status', '--json'], { cwd: path })).json.hints[0], /This commit is green: land it with `abide accept`/);
  assert.match((await s.abide(['status', '--json'])).json.hints[0], /`t` is green: land it with `abide accept t`/);
  r.commit({ bad: '1' }, 'bad', { cwd: path });
  t = await status(s, 't');
  assert.deepEqual([t.proof.status, t.proof.commit], ['stale', tip]);
  await s.refused(['done'], 'gate_red', { cwd: path });
  t = await status(s, 't');
  assert.deepEqual([t.proof.status, t.proof.failing], ['red', ['check']]);
  assert.match((await s.abide(['status'])).stdout, /red: check/);
  assert.match((await s.abide(['status', '--json'], { cwd: path })).json.hints[0], /Job `check` failed on this commit: read \/.*check\.log, mend it, commit, and run `abide done` again/);
});

test('a gate that runs is told, also when nobody watches it', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script } });
  const { path, branch } = await s.ok(['start', 't', '--exact']);
  const tip = r.commit({ x: '1' }, 'x', { cwd: path });
  await s.ok(['done', '--detach-after', '0'], { cwd: path });
  await gate.reached();
  const t = await status(s, 't');
  assert.deepEqual([t.gate.commit, t.gate.detached], [tip, true]);
  assert.equal(t.idle_since, undefined);
  assert.match((await s.abide(['status'])).stdout, /gate \d/);
  assert.match((await s.abide(['status', '--json'], { cwd: path })).json.hints[0], new RegExp(`await --green ${branch}`));
  await gate.release(0);
  await waitFor(async () => (await status(s, 't')).proof.status === 'honoured');
  assert.equal((await status(s, 't')).gate, undefined);
});

test('a begun await never hides an older done; the newest is `running`', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script } });
  const { path, branch } = await s.ok(['start', 't', '--exact']);
  r.worktree('other');
  r.commit({ x: '1' }, 'x', { cwd: path });
  const done = s.spawnAbide(['done', '--json'], { cwd: path });
  await gate.reached();
  const wait = s.spawnAbide(['await', '--landed', 'other', '--json'], { cwd: path });
  await wait.idle();
  const t = await status(s, 't');
  assert.deepEqual(t.in_flight.map((f) => f.verb), ['done', 'await']);
  assert.equal(t.running.verb, 'await');
  assert.equal(t.waiting.length, 1);
  assert.match(t.waiting[0].for, /other/);
  // Whoever waits for this branch is told what runs there, not who waits.
  const seen = await s.ok(['await', '--green', branch, '--timeout', '0'], { code: 124 });
  assert.deepEqual(seen.running.in_flight.map((f) => [f.verb, f.branch, f.task]), [['done', branch, 't']]);
  assert.equal(seen.running.lead.verb, 'done');
  wait.kill('SIGINT');
  await wait.done();
  await gate.release(0);
  await done.done();
  assert.deepEqual((await status(s, 't')).in_flight, []);
});

test('a verb that was killed is not in flight', async (s) => {
  const r = await s.repo();
  const t = r.worktree('t');
  r.worktree('o');
  const p = s.spawnAbide(['await', '--landed', 'o', '--json'], { cwd: t });
  await p.idle();
  assert.equal((await status(s, 't')).running.verb, 'await');
  assert.match((await s.abide(['status'])).stdout, /waits for .*o.*, /);
  p.kill('SIGKILL');
  await p.done();
  const after = await status(s, 't');
  assert.deepEqual([after.in_flight, after.running, after.waiting], [[], undefined, []]);
});

test('open watches are listed, and say whether a call holds them', async (s) => {
  const r = await s.repo();
  r.worktree('o');
  const { resume } = await s.ok(['await', '--landed', 'o', '--timeout', '0'], { code: 124 });
  const d = await s.ok(['status']);
  assert.deepEqual(d.watches.map((w) => [w.resume, w.held, w.worktree]), [[resume, false, r.dir]]);
  assert.match((await s.abide(['status'])).stdout, new RegExp(`Open watches\n +${resume}`));
  await s.ok(['await', '--stop', resume]);
  assert.deepEqual((await s.ok(['status'])).watches, []);
});

test('durations of earlier runs are told as typical', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script } });
  const { path, branch } = await s.ok(['start', 't', '--exact']);
  r.commit({ x: '1' }, 'x', { cwd: path });
  const d = db(r);
  const add = d.prepare("INSERT INTO event (invocation, verb, surface, branch, begun_at, ended_at, outcome, duration_ms, waited_ms, pid) VALUES ('x','done','cli','refs/heads/y',?,?,?,?,?,1)");
  for (let i = 1; i <= 10; i++) add.run(i, i, 'ok', i * 1000 + 500, 500);
  add.run(11, 11, 'gate_red', 999000, 0);
  d.close();
  const done = s.spawnAbide(['done', '--json'], { cwd: path });
  await gate.reached();
  const t = await status(s, 't');
  assert.deepEqual([t.running.median_s, t.running.p90_s, t.running.samples], [5.5, 9, 10]);
  assert.match((await s.abide(['status'])).stdout, /typically 5 s/);
  const seen = await s.ok(['await', '--green', branch, '--timeout', '0'], { code: 124 });
  assert.deepEqual([seen.running.lead.median_s, seen.running.lead.p90_s], [5.5, 9]);
  await gate.release(0);
  await done.done();
});

test('with `logbook: false` only what is in flight is not told', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script }, yaml: 'logbook: false\n' });
  const { path, branch } = await s.ok(['start', 't', '--exact']);
  r.commit({ x: '1' }, 'x', { cwd: path });
  const done = s.spawnAbide(['done', '--json'], { cwd: path });
  await gate.reached();
  const t = await status(s, 't');
  assert.deepEqual([t.in_flight, t.running], [[], undefined]);
  assert.ok(t.gate);
  const seen = await s.ok(['await', '--green', branch, '--timeout', '0'], { code: 124 });
  assert.equal(seen.running, undefined);
  await gate.release(0);
  assert.equal((await done.done()).code, 0);
  assert.equal((await status(s, 't')).proof.status, 'honoured');
});

test('a store that can only be read is read', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo({ gate: { check: 'true' } });
  const { path } = await s.ok(['start', 't', '--exact']);
  r.commit({ x: '1' }, 'x', { cwd: path });
  await s.ok(['done'], { cwd: path });
  const e = await s.abide(['status', '--json'], { wrap: wraps.readOnly(r.gitDir) });
  assert.equal(e.code, 0);
  assert.equal(row(e.json.data, 't').proof.status, 'honoured');
  assert.equal((await s.abide(['log', '--json'], { wrap: wraps.readOnly(r.gitDir) })).json.data.events.at(-1).verb, 'done');
});

test('on a full disk verbs work without being recorded, and status still reads', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  r.worktree('o');
  await s.ok(['await', '--landed', 'o', '--timeout', '0'], { code: 124 });
  const wrap = wraps.fullDisk(r.gitDir);
  const asked = await s.abide(['await', '--landed', 'o', '--timeout', '0', '--json'], { wrap });
  assert.equal(asked.code, 124, asked.stdout);
  assert.equal((await s.abide(['status', '--json'], { wrap })).code, 0);
});

test('the trunk\'s distance to what was fetched last is told', async (s) => {
  const up = await s.repo({ name: 'up' });
  const dir = s.path('clone');
  s.git(['clone', '-q', up.dir, dir]);
  up.commit({ a: '1' }, 'a');
  up.commit({ b: '1' }, 'b');
  s.git(['-C', dir, 'fetch', '-q']);
  const d = await s.ok(['status'], { cwd: dir });
  assert.deepEqual([d.trunk.upstream, d.trunk.behind_upstream, d.trunk.ahead_of_upstream], ['origin/main', 2, 0]);
  assert.match((await s.abide(['status'], { cwd: dir })).stdout, /2 behind origin\/main as last fetched/);
});
