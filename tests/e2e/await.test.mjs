// await: what holds when, and what a call that ends early leaves behind.
import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test, eachZoo, assert, waitFor, staysFalse, fileTreeDigest, wraps, lacksNamespaces } from './lib/index.mjs';

const notYet = { code: 124 };

// Does to the store what no call of abide would.
function sql(r, ...statements) {
  const db = new DatabaseSync(`${r.store}/state.db`);
  for (const statement of statements) db.exec(statement);
  db.close();
}

// A task's branch with one commit beyond the trunk, in a worktree of its own.
function task(r, name = 'feat', file = `${name}.txt`) {
  const path = r.worktree(name);
  const tip = r.commit({ [file]: `${name}\n` }, `work of ${name}`, { cwd: path });
  return { path, tip, name };
}

// A landing as git alone sees it: the trunk moves to the branch's tip.
const land = (r, tip) => r.git(['update-ref', 'refs/heads/main', tip]);

// --- trunk-moved --------------------------------------------------------------

test('a wait for the trunk is released by its move', async (s) => {
  const r = await s.repo();
  const start = r.tip('main');
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  const tip = r.commitOn('main', { x: '1' }, 'move');
  const { json, code } = await p.done();
  assert.equal(code, 0);
  assert.equal(json.data.met, true);
  assert.equal(json.data.observed.trunk_start, start);
  assert.equal(json.data.observed.trunk_head, tip);
  assert.equal(json.data.observed.via, 'trunk');
  assert.equal(json.data.resume, undefined);
});

test('a rewind of the trunk is a move, too', async (s) => {
  const r = await s.repo();
  const old = r.tip('main');
  r.commitOn('main', { x: '1' }, 'one');
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  r.moveTo('main', old);
  assert.equal((await p.done()).json.data.observed.trunk_head, old);
});

test('a trunk that vanishes is not yet, and its return is told', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const tip = r.tip('main');
  r.git(['checkout', '-q', '--detach']);
  r.git(['update-ref', '-d', 'refs/heads/main']);
  const gone = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(gone.met, false);
  assert.equal(gone.observed.trunk_missing, true);
  r.git(['update-ref', 'refs/heads/main', tip]);
  const back = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(back.observed.trunk_missing, undefined);
});

test('the moment between two slices is not lost', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  r.commitOn('main', { x: '1' }, 'in the gap');
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(again.met, true);
});

// --- landed ---------------------------------------------------------------------

test('a branch has landed when its work is on the trunk', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const p = s.spawnAbide(['await', '--landed', 'feat', '--json']);
  await p.idle();
  land(r, t.tip);
  const { json } = await p.done();
  assert.equal(json.data.met, true);
  assert.equal(json.data.branch, 'feat');
  assert.equal(json.data.observed.landed, true);
  assert.equal(json.data.observed.via, 'ancestry');
  assert.equal(json.data.observed.landed_commit, t.tip);
});

test('a new worktree at the trunk has landed nothing', async (s) => {
  const r = await s.repo();
  r.worktree('feat');
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.armed, false);
  r.commitOn('main', { y: '1' }, 'others move the trunk');
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(again.met, false);
});

test('a branch that is reset to the trunk has landed nothing', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.armed, true);
  r.git(['reset', '-q', '--hard', 'main'], { cwd: t.path });
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(again.observed.armed, false);
});

test('work that was amended and then landed has landed', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  const more = r.commit({ more: '1' }, 'more', { cwd: t.path });
  land(r, more);
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(again.observed.landed_commit, more);
});

test('work that was rewritten between two looks is not guessed to have landed', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  r.git(['commit', '-q', '--amend', '-m', 'other'], { cwd: t.path });
  land(r, r.tip('feat'));
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(again.observed.armed, false);
});

test('a branch that vanished is not yet, and unrelated moves of the trunk are no success', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  r.git(['worktree', 'remove', t.path]);
  r.git(['branch', '-q', '-D', 'feat']);
  r.commitOn('main', { other: '1' }, 'unrelated');
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.equal(again.observed.branch_missing, true);
  assert.equal(again.observed.tip, t.tip);
});

test('a branch that landed and was deleted in the gap is told by the tip that was seen', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  land(r, t.tip);
  r.git(['worktree', 'remove', t.path]);
  r.git(['branch', '-q', '-D', 'feat']);
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(again.observed.via, 'ancestry');
});

test('a tip that was pruned since is reachable from nothing, and no error', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  r.git(['worktree', 'remove', t.path]);
  r.git(['branch', '-q', '-D', 'feat']);
  r.git(['reflog', 'expire', '--expire=now', '--all']);
  r.git(['gc', '-q', '--prune=now']);
  r.commitOn('main', { other: '1' }, 'unrelated');
  await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
});

test('an unknown name is refused, and --may-start waits for it', async (s) => {
  const r = await s.repo();
  const before = fileTreeDigest(r.dir, { ignore: (f) => f.startsWith('.git/abide') });
  const e = await s.refused(['await', '--landed', 'nope', '--timeout', '0'], 'unknown_target');
  assert.match(e.hints[0], /--may-start/);
  assert.equal(fileTreeDigest(r.dir, { ignore: (f) => f.startsWith('.git/abide') }), before);
  assert.equal((await s.ok(['await', '--list'])).watches.length, 0);
  const p = s.spawnAbide(['await', '--landed', 'later', '--may-start', '--json']);
  await p.idle();
  const t = task(r, 'later');
  await staysFalse(() => p.stdout() !== '', { ms: 200, what: 'an answer before the landing' });
  land(r, t.tip);
  assert.equal((await p.done()).json.data.met, true);
});

test('a name that is no branch is taken as the id of a task that may start', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--landed', 'later', '--may-start', '--json']);
  await p.idle();
  const tip = r.commitOn('agent/later', { l: '1' }, 'work');
  await staysFalse(() => p.stdout() !== '', { ms: 200, what: 'an answer before the landing' });
  land(r, tip);
  const { json } = await p.done();
  assert.equal(json.data.branch, 'agent/later');
});

test('nothing can make a branch green that no worktree holds', async (s) => {
  const r = await s.repo();
  r.commitOn('feat', { f: '1' }, 'work');
  const e = await s.refused(['await', '--green', 'feat', '--timeout', '0'], 'unknown_target');
  assert.match(e.hints[0], /--landed feat/);
});

test('a branch in a worktree without a gate run is waited for, not refused', async (s) => {
  const r = await s.repo();
  task(r);
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.proof.status, 'missing');
  assert.ok(d.observed.worktree.endsWith('feat'));
});

test('a green wait holds when the work landed', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--green', 'feat', '--timeout', '0'], notYet);
  land(r, t.tip);
  const again = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(again.observed.via, 'ancestry');
});

// --- several ------------------------------------------------------------------------

test('of several the first ends --any, and says which', async (s) => {
  const r = await s.repo();
  task(r, 'one');
  const two = task(r, 'two');
  const p = s.spawnAbide(['await', '--landed', 'one', '--landed', 'two', '--any', '--json']);
  await p.idle();
  land(r, two.tip);
  const { json } = await p.done();
  assert.equal(json.data.condition, 'any');
  assert.deepEqual(json.data.conditions.map((c) => [c.branch, c.met]), [['one', false], ['two', true]]);
});

test('--all needs each to have held, and one that held stays held', async (s) => {
  const r = await s.repo();
  const t = task(r, 'one');
  const start = r.tip('main');
  const d = await s.ok(['await', '--landed', 'one', '--trunk-moved', '--all', '--timeout', '0'], notYet);
  const other = r.commitOn('main', { o: '1' }, 'other');
  const half = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.deepEqual(half.conditions.map((c) => c.met).sort(), [false, true]);
  r.moveTo('main', start);
  const still = await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  assert.deepEqual(still.conditions.map((c) => c.met).sort(), [false, true]);
  assert.notEqual(other, start);
  land(r, t.tip);
  assert.equal((await s.ok(['await', '--resume', d.resume, '--timeout', '0'])).met, true);
});

// --- what may be asked -------------------------------------------------------------

for (const [words, why] of [
  [[], 'nothing to wait for'],
  [['--landed', 'a', '--landed', 'b'], 'which of them'],
  [['--landed', 'a', '--landed', 'b', '--any', '--all'], 'exclude each other'],
  [['--resume', 'w-0000-0000-00', '--landed', 'a'], 'no condition'],
  [['--resume', 'w-0000-0000-00', '--fresh'], 'exclude each other'],
  [['--resume', 'w-0000-0000-00', '--any'], 'no condition'],
  [['--landed', 'main'], 'is the trunk'],
  [['--landed', 'a..b'], 'no branch'],
  [['--landed', ''], 'no branch'],
  [['--landed', '-x'], 'no branch'],
  [['--landed', 'a b'], 'no branch'],
  [['--trunk-moved', '--timeout', '-3'], 'whole number'],
  [['--trunk-moved', '--timeout', '1.5'], 'whole number'],
  [['--trunk-moved', '--timeout', '3s'], 'whole number'],
  [['--trunk-moved', '--timeout', '99999999999999999999'], 'whole number'],
  [['--trunk-moved', '--list'], 'nothing else'],
]) {
  test(`refused: await ${words.join(' ')}`, async (s) => {
    await s.repo();
    const e = await s.refused(['await', ...words], 'invalid_arguments');
    assert.match(e.message, new RegExp(why));
    assert.equal(e.data?.resume, undefined);
  });
}

test('a repository without commits, without a trunk, and no repository at all are told apart', async (s) => {
  const r = await s.repo({ zoo: 'unborn' });
  await s.refused(['await', '--trunk-moved'], 'no_commits');
  const other = await s.repo({ name: 'other' });
  other.git(['branch', '-q', '-m', 'main', 'odd']);
  await s.refused(['await', '--trunk-moved'], 'no_trunk', { cwd: other.dir });
  await s.refused(['await', '--trunk-moved'], 'no_repository', { cwd: s.dir });
  assert.ok(r);
});

// --- handles ------------------------------------------------------------------------

test('handles: mistyped, of nobody, stopped', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const wrong = d.resume.slice(0, -1) + (d.resume.endsWith('0') ? '1' : '0');
  await s.refused(['await', '--resume', wrong], 'handle_malformed');
  await s.refused(['await', '--resume', 'w-0000-0000-00'], 'handle_unknown');
  const lower = d.resume.toLowerCase().replaceAll('0', 'o');
  await s.ok(['await', '--resume', lower, '--timeout', '0'], notYet);
  const other = await s.repo({ name: 'other' });
  await s.refused(['await', '--resume', d.resume], 'handle_unknown', { cwd: other.dir });
  const stopped = await s.ok(['await', '--stop', d.resume]);
  assert.equal(stopped.was_open, true);
  await s.refused(['await', '--resume', d.resume], 'handle_expired');
  assert.ok(r);
});

test('a watch of another trunk is refused, naming both', async (s) => {
  const r = await s.repo();
  r.branch('next', 'main');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const e = await s.refused(['await', '--resume', d.resume], 'invalid_arguments', { env: { ABIDE_TRUNK: 'next' } });
  assert.match(e.message, /main/);
  assert.match(e.message, /next/);
});

test('stopping a watch ends the call that holds it', async (s) => {
  await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  const { watches } = await s.ok(['await', '--list']);
  assert.equal(watches.length, 1);
  assert.equal(watches[0].held, true);
  await s.ok(['await', '--stop', watches[0].resume]);
  const { json, code } = await p.done();
  assert.equal(code, 124);
  assert.equal(json.data.ended, 'stopped');
  assert.equal(json.data.resume, undefined);
});

test('a handle works from any worktree, and for two callers at once', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const a = s.spawnAbide(['await', '--resume', d.resume, '--json']);
  const b = s.spawnAbide(['await', '--resume', d.resume, '--json'], { cwd: t.path });
  await a.idle();
  await b.idle();
  r.commitOn('main', { x: '1' }, 'move');
  assert.equal((await a.done()).json.data.met, true);
  assert.equal((await b.done()).json.data.met, true);
});

test('a met watch tells its answer again', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const tip = r.commitOn('main', { x: '1' }, 'move');
  const first = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  r.commitOn('main', { x: '2' }, 'move on');
  const second = await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  assert.equal(first.replayed, undefined);
  assert.equal(second.replayed, true);
  assert.equal(second.observed.trunk_head, tip);
});

test('a watch that was not used for 7 days has expired, for 30 more days', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  const days = (n) => Date.now() - n * 86400000;
  sql(r, `UPDATE watch SET used_at = ${days(6)}`);
  await s.ok(['await', '--resume', d.resume, '--timeout', '0'], notYet);
  sql(r, `UPDATE watch SET used_at = ${days(8)}`);
  await s.refused(['await', '--resume', d.resume], 'handle_expired');
  assert.equal((await s.ok(['await', '--list'])).watches.length, 0);
  // Any new watch puts the old one away; its tombstone tells it from one that never was.
  await s.ok(['await', '--landed', 'x', '--may-start', '--timeout', '0'], notYet);
  await s.refused(['await', '--resume', d.resume], 'handle_expired');
  sql(r, `UPDATE tombstone SET died_at = ${days(31)}`);
  await s.ok(['await', '--landed', 'y', '--may-start', '--timeout', '0'], notYet);
  await s.refused(['await', '--resume', d.resume], 'handle_unknown');
});

test('a record that a newer abide wrote is refused and kept', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  sql(r, 'UPDATE watch SET version = 2');
  await s.refused(['await', '--resume', d.resume], 'newer_format');
  await s.refused(['await', '--stop', d.resume], 'newer_format');
  const db = new DatabaseSync(`${r.store}/state.db`);
  assert.equal(db.prepare('SELECT state FROM watch').get().state, 'open');
  db.close();
});

test('a record that is damaged is an error, not a crash', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['await', '--landed', 'x', '--may-start', '--timeout', '0'], notYet);
  for (const record of ['', '[]', '{"mode":"one","conditions":[{}]}', '{"mode":"one","conditions":[{"condition":"landed","refs":["refs/heads/../x"]}]}',
    '{"mode":"one","conditions":[{"condition":"landed","refs":["hex:zz"]}]}', '{"mode":"one","conditions":[{"condition":"landed","refs":[],"armed":1}]}']) {
    sql(r, `UPDATE watch SET record = '${record}'`);
    await s.refused(['await', '--resume', d.resume, '--timeout', '0'], 'read_failed');
  }
});

// --- lost calls ---------------------------------------------------------------------

test('a killed call is continued by the same question', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const p = s.spawnAbide(['await', '--landed', 'feat', '--json']);
  await p.idle();
  p.kill('SIGKILL');
  await p.done();
  land(r, t.tip);
  r.git(['worktree', 'remove', t.path]);
  r.git(['branch', '-q', '-D', 'feat']);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0']);
  assert.equal(d.met, true);
  assert.equal(d.continued.reason, 'killed');
});

test('a call that a person stopped is not continued', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  p.kill('SIGINT');
  const { json, code } = await p.done();
  assert.equal(code, 130);
  assert.equal(json.data.ended, 'cancelled');
  assert.ok(json.data.resume);
  assert.deepEqual(json.hints, []);
  r.commitOn('main', { x: '1' }, 'move');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  assert.equal(d.continued, undefined);
});

test('SIGINT ends a wait at once and prints the handle for people', async (s) => {
  await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved']);
  await p.idle();
  const t0 = performance.now();
  p.kill('SIGINT');
  const { code, stdout } = await p.done();
  assert.ok(performance.now() - t0 < 1000, 'within a moment');
  assert.equal(code, 130);
  assert.match(stdout, /w-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{2}/);
});

test('a cancelled call is continued by the same question', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  p.kill('SIGTERM');
  assert.equal((await p.done()).code, 143);
  r.commitOn('main', { x: '1' }, 'move');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0']);
  assert.equal(d.continued.reason, 'cancelled');
});

test('an answer that could not be written is told again', async (s) => {
  const r = await s.repo();
  const t = task(r);
  await s.abide(['await', '--trunk-moved', '--timeout', '0'], { env: { ABIDE_TEST_FAIL_AT: 'output' } });
  r.commitOn('main', { x: '1' }, 'move');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0']);
  assert.equal(d.continued.reason, 'undelivered');
  assert.ok(t);
});

test('a lost call of a worktree that has the trunk already is asked anew', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const p = s.spawnAbide(['await', '--trunk-moved', '--json'], { cwd: t.path });
  await p.idle();
  p.kill('SIGKILL');
  await p.done();
  r.commitOn('main', { x: '1' }, 'move');
  r.git(['merge', '-q', '--no-edit', 'main'], { cwd: t.path });
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], { ...notYet, cwd: t.path });
  assert.equal(d.continued, undefined);
});

test('--fresh asks anew', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  p.kill('SIGKILL');
  await p.done();
  r.commitOn('main', { x: '1' }, 'move');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0', '--fresh'], notYet);
  assert.equal(d.continued, undefined);
});

test('the same question is answered again for the same work', async (s) => {
  const r = await s.repo();
  const t = task(r);
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  land(r, t.tip);
  await s.ok(['await', '--resume', d.resume, '--timeout', '0']);
  const again = await s.ok(['await', '--landed', 'feat', '--timeout', '0']);
  assert.equal(again.replayed, true);
  r.commit({ more: '1' }, 'new work', { cwd: t.path });
  await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
});

test('a call that is being held is not taken over', async (s) => {
  await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  assert.equal(d.continued, undefined);
  const { watches } = await s.ok(['await', '--list']);
  assert.equal(watches.length, 2);
  p.kill('SIGINT');
  await p.done();
});

// --- bounds -----------------------------------------------------------------------------

test('the bound and its basis are told', async (s) => {
  await s.repo();
  const zero = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  assert.deepEqual([zero.timeout_s, zero.timeout_basis, zero.retry_after_s, zero.retry_basis], [0, 'explicit', 3300, 'cli']);
  const one = await s.ok(['await', '--trunk-moved', '--timeout', '1'], notYet);
  assert.ok(one.elapsed_ms >= 1000);
  const mcp = (extra, env) => s.ok(['await', '--trunk-moved', '--surface', 'mcp', ...extra], { ...notYet, env });
  const d = await mcp(['--tool-timeout', '60', '--timeout', '0']);
  assert.deepEqual([d.retry_after_s, d.retry_basis], [45, 'client']);
  const cap = await mcp(['--timeout', '9'], { ABIDE_EXPERIMENTAL_AWAIT_CALL_SECONDS: '1' });
  assert.deepEqual([cap.timeout_s, cap.timeout_basis, cap.requested_timeout_s], [1, 'cache-window', 9]);
  const older = await mcp([], { DISCERN_EXPERIMENTAL_AWAIT_CALL_SECONDS: '1' });
  assert.equal(older.timeout_basis, 'cache-window');
});

test('hints are spelled for the face that asks', async (s) => {
  await s.repo();
  const cli = await s.abide(['await', '--trunk-moved', '--timeout', '0', '--json']);
  assert.match(cli.json.hints[0], /`abide await --resume w-/);
  const mcp = await s.abide(['await', '--trunk-moved', '--timeout', '0', '--json', '--surface', 'mcp']);
  assert.match(mcp.json.hints[0], /`await \{"resume":"w-/);
});

// --- met answers ---------------------------------------------------------------------------

test('a met answer says how far the worktree is behind and where the two meet', async (s) => {
  const r = await s.repo({ files: { 'shared.txt': 'x\n', 'own.txt': 'x\n' } });
  const t = task(r, 'mine', 'shared.txt');
  s.write(`${t.path}/own.txt`, 'dirty\n');
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], { ...notYet, cwd: t.path });
  r.commitOn('main', { 'shared.txt': 'y\n', 'own.txt': 'y\n', 'z.txt': 'z\n' }, 'move');
  const x = await s.abide(['await', '--resume', d.resume, '--timeout', '0', '--json'], { cwd: t.path });
  assert.equal(x.json.data.observed.behind, 1);
  assert.deepEqual(x.json.data.observed.incoming_overlap, ['own.txt', 'shared.txt']);
  assert.equal(x.json.data.observed.overlap_total, 2);
  assert.match(x.json.hints[0], /`abide update`/);
  const main = await s.abide(['await', '--resume', d.resume, '--timeout', '0', '--json']);
  assert.match(main.json.hints[0], /`abide start`/);
});

// --- waking ---------------------------------------------------------------------------------

test('a branch that is packed, unpacked and recreated during the wait is followed', async (s) => {
  const r = await s.repo();
  const t = task(r, 'agent/deep/feat');
  const p = s.spawnAbide(['await', '--landed', 'agent/deep/feat', '--json']);
  await p.idle();
  r.git(['pack-refs', '--all', '--prune']);
  await p.idle();
  const more = r.commit({ more: '1' }, 'more', { cwd: t.path });
  await p.idle();
  r.git(['pack-refs', '--all', '--prune']);
  await p.idle();
  land(r, more);
  const { json, ms } = await p.done();
  assert.equal(json.data.observed.landed_commit, more);
  assert.ok(ms < 30000, `${ms} ms`);
});

test('polling finds it, too', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json'], { env: { ABIDE_TEST_POLLING: '1' } });
  await p.idle();
  r.commitOn('main', { x: '1' }, 'move');
  assert.equal((await p.done()).json.data.wake, 'polling');
});

test('without a file-event instance to spare it polls', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json'], { wrap: wraps.noInotifyInstances() });
  await waitFor(() => r.hasStore(), { what: 'a store', watch: [r.gitDir] });
  await p.idle();
  r.commitOn('main', { x: '1' }, 'move');
  assert.equal((await p.done()).json.data.wake, 'polling');
});

test('a move between arming and the first look is seen', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json'], { env: { ABIDE_TEST_STOP_AT: 'wait:armed' } });
  await waitFor(() => p.state() === 'T', { what: 'the stop at the seam' });
  r.commitOn('main', { x: '1' }, 'move');
  p.kill('SIGCONT');
  assert.equal((await p.done()).json.data.met, true);
});

test('a move during a look is seen', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json'], { env: { ABIDE_TEST_STOP_AT: 'wait:evaluated' } });
  await waitFor(() => p.state() === 'T', { what: 'the stop at the seam' });
  r.commitOn('main', { x: '1' }, 'move');
  p.kill('SIGCONT');
  // It stops at the seam after each look.
  const t = setInterval(() => p.kill('SIGCONT'), 50);
  assert.equal((await p.done()).json.data.met, true);
  clearInterval(t);
});

test('waits leave file-event instances to others', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  // 8 instances a user: abide's waits take a quarter, the others poll.
  const waits = [];
  for (let i = 0; i < 4; i++) {
    const p = s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json'], { wrap: wraps.inotifyInstances(8) });
    await waitFor(async () => (await s.ok(['await', '--list'])).watches.filter((w) => w.held).length > i, { what: `wait ${i} is held` });
    waits.push(p);
  }
  for (const p of waits) await p.idle();
  r.commitOn('main', { x: '1' }, 'move');
  const wakes = [];
  for (const p of waits) wakes.push((await p.done()).json.data.wake);
  assert.deepEqual(wakes.sort(), ['events', 'events', 'polling', 'polling']);
});

test('a wait for a server ends when the server is gone', async (s) => {
  await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--json', '--surface', 'mcp', '--watch-stdin'], { stdin: 'pipe' });
  await p.idle();
  p.end();
  const { json } = await p.done({ timeout: 2000 });
  assert.equal(json.data.ended, 'cancelled');
  const again = await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  assert.equal(again.continued.reason, 'cancelled');
});

// ABIDE_TEST_WAITS=200 for as many as a large fleet has; `make bench storm` measures those.
const many = Number(process.env.ABIDE_TEST_WAITS ?? 40);
test(`${many} waits on one repository are all released`, { timeout: 480000 }, async (s) => {
  const r = await s.repo();
  const waits = Array.from({ length: many }, () => s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json']));
  await waitFor(async () => (await s.ok(['await', '--list'])).watches.filter((w) => w.held).length === many, { what: 'all of them held', timeout: 240000 });
  r.commitOn('main', { x: '1' }, 'move');
  for (const p of waits) assert.equal((await p.done({ timeout: 200000 })).json.data.met, true);
});

test('answers for agents are short', async (s) => {
  const r = await s.repo({ files: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`some/longer/folder/file-number-${i}.txt`, 'x\n'])) });
  const t = task(r, 'agent/some-longer-task-name-7k3');
  for (let i = 0; i < 30; i++) s.write(`${t.path}/some/longer/folder/file-number-${i}.txt`, 'y\n');
  r.git(['commit', '-qam', 'all'], { cwd: t.path });
  const mcp = ['--surface', 'mcp', '--tool-timeout', '60', '--json'];
  const not = await s.abide(['await', '--trunk-moved', '--timeout', '0', ...mcp], { cwd: t.path });
  assert.ok(not.stdout.length <= 900, `${not.stdout.length} bytes: ${not.stdout}`);
  const landed = await s.abide(['await', '--landed', 'agent/some-longer-task-name-7k3', '--timeout', '0', ...mcp], { cwd: t.path });
  assert.ok(landed.stdout.length <= 900, `${landed.stdout.length} bytes: ${landed.stdout}`);
  const change = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`some/longer/folder/file-number-${i}.txt`, 'z\n']));
  r.commitOn('main', change, 'all of them');
  const met = await s.abide(['await', '--resume', not.json.data.resume, ...mcp], { cwd: t.path });
  assert.equal(met.json.data.met, true);
  assert.equal(met.json.data.observed.incoming_overlap.length, 3);
  assert.equal(met.json.data.observed.overlap_total, 30);
  assert.ok(met.stdout.length <= 900, `${met.stdout.length} bytes: ${met.stdout}`);
});

// --- where nothing can be written ---------------------------------------------------------------

test('a wait in a read-only git folder works, and says what is lost', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const x = await s.abide(['await', '--trunk-moved', '--timeout', '0', '--json'], { wrap: wraps.readOnly(r.gitDir) });
  assert.equal(x.code, 124);
  assert.equal(x.json.data.resume, undefined);
  assert.match(x.json.warnings[0], /no handle/);
});

test('a wait on a full disk works, and says what is lost', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const x = await s.abide(['await', '--trunk-moved', '--timeout', '0', '--json'], { wrap: wraps.fullDisk(r.gitDir) });
  assert.equal(x.code, 124);
  assert.equal(x.json.data.met, false);
});

test('a store that is newer is refused and stays as it is', async (s) => {
  const r = await s.repo();
  await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  sql(r, 'PRAGMA user_version=99', 'PRAGMA wal_checkpoint(TRUNCATE)');
  const before = fileTreeDigest(r.store, { ignore: (f) => !f.endsWith('state.db') });
  await s.refused(['await', '--trunk-moved', '--timeout', '0'], 'newer_format');
  assert.equal(fileTreeDigest(r.store, { ignore: (f) => !f.endsWith('state.db') }), before);
});

test('a damaged store is refused with the way out', async (s) => {
  const r = await s.repo();
  await s.ok(['await', '--trunk-moved', '--timeout', '0'], notYet);
  await s.sh(`rm -f '${r.store}'/state.db-*; head -c 8192 /dev/urandom > '${r.store}/state.db'`);
  const e = await s.refused(['await', '--trunk-moved', '--timeout', '0'], 'read_failed');
  assert.match(e.hints.join(' '), /mv /);
});

// --- every kind of repository ------------------------------------------------------------------------

eachZoo('await in every kind of repository', { except: ['unborn'] }, async (s, r) => {
  const tip = r.commitOn('feat', { 'feat.txt': '1' }, 'work');
  const d = await s.ok(['await', '--landed', 'feat', '--timeout', '0'], notYet);
  assert.equal(d.observed.armed, true);
  assert.equal(d.observed.tip, tip);
  const p = s.spawnAbide(['await', '--resume', d.resume, '--json']);
  await p.idle();
  r.git(['update-ref', `refs/heads/${r.trunk}`, tip]);
  assert.equal((await p.done()).json.data.observed.landed_commit, tip);
});

// --- cost ------------------------------------------------------------------------------------------------

// A git on PATH that writes down what it is asked, and is git.
function countedGit(s) {
  const log = s.path('git.log');
  const real = s.git(['--exec-path']).trim();
  s.program('git', `echo "$@" >>'${log}'; exec '${real}/git' "$@"`);
  return () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []);
}

test('an unrelated ref costs a wait no git process', async (s) => {
  const r = await s.repo();
  const asked = countedGit(s);
  const p = s.spawnAbide(['await', '--landed', 'x', '--may-start', '--json']);
  await p.idle();
  const before = asked().filter((l) => l.includes('for-each-ref')).length;
  assert.ok(before > 0, 'the counter sees git');
  for (let i = 0; i < 20; i++) r.git(['update-ref', `refs/heads/other${i}`, 'main']);
  await staysFalse(() => asked().filter((l) => l.includes('for-each-ref')).length > before, { ms: 500, what: 'a look at the refs' });
  p.kill('SIGINT');
  await p.done();
});

test('the bell of the store costs a wait no git process', async (s) => {
  const r = await s.repo();
  const asked = countedGit(s);
  const p = s.spawnAbide(['await', '--trunk-moved', '--json']);
  await p.idle();
  const before = asked().length;
  assert.ok(before > 0, 'the counter sees git');
  await s.sh(`touch '${r.store}/bell/b'`);
  await staysFalse(() => asked().length > before, { ms: 500, what: 'a git process' });
  r.commitOn('main', { x: '1' }, 'move');
  assert.equal((await p.done()).json.data.met, true);
});
