// What is true now, told without changing anything.
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, eachZoo, assert, waitFor, fileTreeDigest, abideBin } from './lib/index.mjs';
import { checkEnvelope } from './lib/envelope.mjs';

const row = (data, id) => data.tasks.find((t) => t.id === id || t.branch === id);

test('ahead, behind and dirt of every task', async (s) => {
  const r = await s.repo();
  const a = r.worktree('a');
  r.worktree('feat/b');
  r.commit({ 'a.txt': '1' }, 'one', { cwd: a });
  r.commit({ 'a.txt': '2' }, 'two', { cwd: a });
  r.commit({ 'trunk.txt': '1' }, 'trunk moves');
  writeFileSync(join(a, 'new.txt'), 'x');
  appendFileSync(join(a, 'a.txt'), 'changed');
  const d = await s.ok(['status']);
  const ta = row(d, 'a');
  assert.deepEqual([ta.ahead, ta.behind, ta.state], [2, 1, 'ok']);
  assert.deepEqual([ta.dirty.tracked, ta.dirty.untracked, ta.dirty.paths], [1, 1, ['a.txt', 'new.txt']]);
  assert.equal(ta.proof.status, 'missing');
  assert.equal(ta.tip, r.tip('a'));
  const tb = row(d, 'feat/b');
  assert.deepEqual([tb.ahead, tb.behind, tb.dirty.tracked], [0, 1, 0]);
  assert.ok(tb.idle_since > 1.5e12);
  assert.equal(d.trunk.tip, r.tip(r.trunk));
  assert.equal(d.trunk.path, r.dir);
  const text = (await s.abide(['status'])).stdout;
  assert.match(text, /a +a +\+2 -1 +1 changed, 1 new +none +idle/);
  assert.match(text, /feat\/b +-1 +clean/);
});

eachZoo('status works in every repository and writes nothing', async (s, r, animal) => {
  if (!animal.unborn) r.worktree(r.task);
  const before = fileTreeDigest(r.gitDir);
  const d = await s.ok(['status']);
  assert.ok(Array.isArray(d.tasks));
  const { code, stdout } = await s.abide(['status']);
  assert.equal(code, 0);
  assert.notEqual(stdout, '');
  await s.ok(['status', '--here']);
  assert.deepEqual(fileTreeDigest(r.gitDir), before);
  assert.ok(!r.hasStore());
});

test('the caller is told its next step', async (s) => {
  const r = await s.repo();
  const t = r.worktree('t');
  const next = async (cwd) => (await s.abide(['status', '--json'], { cwd })).json.hints;
  assert.match((await next(r.dir)).join(), /^$/);
  assert.match((await next(t))[0], /Commit work here, then run `abide done`/);
  writeFileSync(join(t, 'x'), '1');
  assert.match((await next(t))[0], /Commit what belongs to the task, then run `abide done`/);
  r.commit({ x: '1' }, 'x', { cwd: t });
  assert.match((await next(t))[0], /Prove this commit with `abide done`/);
  r.commit({ y: '1' }, 'y');
  assert.match((await next(t))[0], /bring it in with `abide update`/);
  r.git(['-C', t, 'merge', '-q', '--no-commit', r.trunk]);
  assert.match((await next(t))[0], /git merge --continue/);
});

test('with nothing to do a task is begun', async (s) => {
  const r = await s.repo();
  assert.match((await s.abide(['status', '--json'])).json.hints[0], /Begin a task with `abide start`/);
  r.commitOn('left', { l: '1' }, 'left behind');
  assert.match((await s.abide(['status', '--json'])).json.hints[0], /`abide start --branch left`/);
});

test('unlanded branches without a worktree are listed, merged ones are not', async (s) => {
  const r = await s.repo();
  r.commitOn('merged', { m: '1' }, 'm');
  r.git(['merge', '-q', '--no-edit', 'merged']);
  for (let i = 0; i < 23; i++) r.branch(`many/${i}`, r.commitOn('tmp', { [`f${i}`]: '1' }, `w${i}`));
  r.worktree('held', { from: 'many/3' });
  const d = await s.ok(['status']);
  assert.equal(d.branches_total, 24);
  assert.equal(d.branches.length, 20);
  assert.ok(d.branches.every((b) => b.ahead >= 1 && b.branch !== 'merged' && b.branch !== 'held'));
  assert.match((await s.abide(['status'])).stdout, /and 4 more/);
});

test('a missing, a locked, a tampered and an unborn worktree are rows', async (s) => {
  const r = await s.repo();
  const [gone, locked, bad, moved] = ['gone', 'locked', 'bad', 'fine'].map((n) => r.worktree(n));
  rmSync(gone, { recursive: true });
  r.git(['worktree', 'lock', '--reason', 'mine\u001b[31m', locked]);
  writeFileSync(join(bad, '.git'), `gitdir: ${s.path('elsewhere')}\n`);
  const orphan = r.worktree('orphan');
  r.git(['-C', orphan, 'checkout', '-q', '--orphan', 'unborn']);
  const d = await s.ok(['status']);
  assert.equal(row(d, 'gone').state, 'missing');
  assert.match(row(d, 'gone').message, /folder is not there/);
  assert.equal(row(d, 'locked').locked, 'mine\u001b[31m');
  assert.equal(row(d, 'bad').state, 'tampered');
  assert.equal(row(d, 'unborn').state, 'unborn');
  assert.equal(row(d, 'unborn').tip, undefined);
  assert.equal(row(d, 'fine').state, 'ok');
  const text = (await s.abide(['status'])).stdout;
  assert.match(text, /locked, idle/);
  assert.ok(!text.includes('\u001b'));
  assert.ok(moved);
});

test('git is not run in a worktree whose pointer was changed', async (s) => {
  const r = await s.repo();
  const bad = r.worktree('bad');
  const evil = s.path('evil');
  s.git(['init', '-q', evil]);
  const mark = s.path('ran');
  s.git(['-C', evil, 'config', 'core.fsmonitor', s.program('monitor', `touch ${mark}`)]);
  writeFileSync(join(bad, '.git'), `gitdir: ${evil}/.git\n`);
  assert.equal(row(await s.ok(['status']), 'bad').state, 'tampered');
  assert.ok(!existsSync(mark));
});

test('a worktree that git cannot read is a row', async (s) => {
  const r = await s.repo();
  r.worktree('good');
  const bad = r.worktree('bad');
  writeFileSync(join(r.gitDir, 'worktrees', 'bad', 'index'), 'no index');
  const d = await s.ok(['status']);
  assert.equal(row(d, 'bad').state, 'broken');
  assert.match(row(d, 'bad').message, /git said/);
  assert.equal(row(d, 'good').state, 'ok');
  assert.ok(bad);
});

test('a detached and a parked worktree are told', async (s) => {
  const r = await s.repo();
  const away = r.worktree('away');
  r.git(['-C', away, 'checkout', '-q', '--detach']);
  const busy = r.worktree('busy');
  r.commit({ 'a.txt': 'theirs' }, 'theirs');
  r.commit({ 'a.txt': 'ours' }, 'ours', { cwd: busy });
  r.git(['-C', busy, 'rebase', '-q', r.trunk], { ok: [1] });
  const d = await s.ok(['status']);
  const detached = d.worktrees.find((w) => w.path === away);
  assert.equal(detached.branch, undefined);
  assert.equal(detached.head, r.head('HEAD', { cwd: away }));
  assert.equal(row(d, 'busy').parked, 'rebase');
  assert.equal(row(d, 'busy').tip, r.tip('busy'));
  assert.ok(row(d, 'busy').dirty.conflicts === 1);
  const text = (await s.abide(['status'])).stdout;
  assert.match(text, /in a rebase/);
  assert.match(text, /detached at [0-9a-f]{10} +.*away/);
});

test('the main checkout on a branch is a task, on a detached HEAD it is not', async (s) => {
  const r = await s.repo();
  r.git(['checkout', '-q', '-b', 'feature']);
  let d = await s.ok(['status']);
  assert.equal(row(d, 'feature').main, true);
  assert.equal(row(d, 'feature').here, true);
  assert.equal(d.trunk.path, undefined);
  r.git(['checkout', '-q', '--detach']);
  d = await s.ok(['status']);
  assert.deepEqual(d.tasks, []);
  assert.equal(d.worktrees[0].main, true);
});

test('a parked trunk checkout is told', async (s) => {
  const r = await s.repo();
  r.git(['bisect', 'start', '-q'], { ok: [0] });
  const d = await s.ok(['status']);
  assert.ok((d.trunk.parked ?? d.worktrees[0].parked) === 'bisect', JSON.stringify(d));
});

test('--here is the caller\'s worktree alone', async (s) => {
  const r = await s.repo();
  const a = r.worktree('a');
  r.worktree('b');
  r.commit({ x: '1' }, 'x', { cwd: a });
  mkdirSync(join(a, 'deep'));
  const d = await s.ok(['status', '--here'], { cwd: join(a, 'deep') });
  assert.deepEqual(d.tasks.map((t) => [t.id, t.ahead, t.here]), [['a', 1, true]]);
  assert.deepEqual((await s.ok(['status', '--here'])).tasks, []);
});

test('hostile branch names are shown, and never obeyed', async (s) => {
  const r = await s.repo();
  const names = ['-rf', 'x"y\'z', 'ünï', 'a\u0301', '$(pwned)', '\u202eevil'];
  for (const [i, n] of names.entries()) {
    r.git(['update-ref', `refs/heads/${n}`, r.tip(r.trunk)]);
    const p = s.path(`t${i}`);
    r.git(['worktree', 'add', '-q', '--detach', p]);
    r.git(['-C', p, 'symbolic-ref', 'HEAD', `refs/heads/${n}`]);
    r.commit({ [`f${i}`]: '1' }, 'x', { cwd: p });
  }
  const d = await s.ok(['status']);
  for (const n of names) assert.equal(row(d, n).ahead, 1, n);
  const { stdout } = await s.abide(['status']);
  assert.ok(!stdout.includes('\u202e'));
});

test('a path with a newline and a branch that is no UTF-8', async (s) => {
  const r = await s.repo();
  const p = s.path('two\nlines');
  r.git(['worktree', 'add', '-q', '-b', 'nl', p]);
  await s.sh(`git -C '${r.dir}' update-ref "$(printf 'refs/heads/\\377x')" HEAD && git -C '${p}' symbolic-ref HEAD "$(printf 'refs/heads/\\377x')"`);
  const d = await s.ok(['status']);
  assert.equal(d.tasks[0].path, p);
  assert.equal(d.tasks[0].branch, '\ufffdx');
  assert.equal(Buffer.from(d.tasks[0].branch_bytes, 'base64').toString('latin1'), '\xffx');
  assert.match((await s.abide(['status'])).stdout, /two\\x0Alines/);
});

test('a broken abide.yaml is a warning', async (s) => {
  const r = await s.repo({ yaml: 'trunk: main\nnonsense: 1\n' });
  r.worktree('t');
  const e = (await s.abide(['status', '--json'])).json;
  assert.equal(e.ok, true);
  assert.match(e.warnings.join(), /nonsense/);
  assert.equal(e.data.tasks.length, 1);
});

test('a store that is newer or damaged is a warning', async (s) => {
  const r = await s.repo();
  r.worktree('t');
  const store = join(r.gitDir, 'abide');
  mkdirSync(store);
  writeFileSync(join(store, 'state.db'), 'this is no database at all, and long enough to be looked at '.repeat(20));
  const e = (await s.abide(['status', '--json'])).json;
  assert.equal(e.ok, true);
  assert.equal(e.warnings.length, 1);
  assert.match(e.warnings[0], /state\.db/);
  assert.equal(e.data.tasks[0].id, 't');
});

test('status takes no index.lock, and works while one is held', async (s) => {
  const r = await s.repo({ files: { 'a.txt': 'x' } });
  const t = r.worktree('t');
  const lock = join(r.gitDir, 'worktrees', 't', 'index.lock');
  s.allowLeftover(/index\.lock$/);
  writeFileSync(lock, '');
  const d = await s.ok(['status']);
  assert.equal(row(d, 't').state, 'ok');
  rmSync(lock);
  const index = join(r.gitDir, 'worktrees', 't');
  const before = fileTreeDigest(index);
  // Another time, the same content: git would like to refresh its index.
  await s.sh(`touch -d '2001-01-01' '${t}/a.txt'`);
  await s.ok(['status']);
  assert.deepEqual(fileTreeDigest(index), before);
});

test('no repository, no commits, no trunk', async (s) => {
  await s.refused(['status'], 'no_repository', { cwd: s.dir });
  const r = await s.repo({ zoo: 'unborn' });
  const e = (await s.abide(['status', '--json'], { cwd: r.dir })).json;
  assert.equal(e.ok, true);
  assert.ok(e.hints.length > 0);
});

test('--follow --json tells each change on a line, and ends on SIGINT', async (s) => {
  const r = await s.repo();
  const t = r.worktree('t');
  const p = s.spawnAbide(['status', '--follow', '--json']);
  await p.line('"ahead":0');
  await p.idle();
  r.commit({ x: '1' }, 'x', { cwd: t });
  await p.line('"ahead":1');
  await p.idle();
  r.worktree('late');
  await p.line('"id":"late"');
  p.kill('SIGINT');
  const { code, stdout, stderr } = await p.done({ stream: true });
  assert.equal(code, 130);
  assert.equal(stderr, '');
  for (const line of stdout.trimEnd().split('\n')) {
    const e = checkEnvelope({ argv: [], code: 0, stdout: `${line}\n`, stderr: '' });
    assert.equal(e.verb, 'status');
  }
});

test('--follow without a terminal never moves the cursor', async (s) => {
  const r = await s.repo();
  r.worktree('t');
  const p = s.spawnAbide(['status', '--follow']);
  await p.line('idle');
  p.kill('SIGTERM');
  const { code, stdout } = await p.done();
  assert.equal(code, 143);
  assert.ok(!stdout.includes('\u001b'));
});

test('--follow on a terminal redraws in place', async (s) => {
  const r = await s.repo();
  const t = r.worktree('t');
  const p = s.spawn('script', ['-qefc', `${abideBin} status --follow --color=never`, '/dev/null'], { cwd: r.dir, stdin: 'pipe' });
  await p.line(/even +clean/);
  r.commit({ x: '1' }, 'x', { cwd: t });
  await p.line(/\+1 +clean/);
  p.write('\u0003');
  await p.done();
  assert.match(p.stdout(), /^\u001b\[2J\u001b\[H/);
  assert.match(p.stdout(), /\u001b\[K\r?\n/);
});

test('colour only where it is asked for', async (s) => {
  const r = await s.repo();
  r.worktree('t');
  assert.doesNotMatch((await s.abide(['status'])).stdout, /\u001b/);
  assert.match((await s.abide(['status', '--color=always'])).stdout, /\u001b\[1mt\u001b\[0m/);
});

test('tasks that land, wait for their turn, and leave are told', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script } });
  const [a, b] = [await s.ok(['start', 'a', '--exact']), await s.ok(['start', 'b', '--exact'])];
  for (const t of [a, b]) r.commit({ [t.id]: '1' }, 'x', { cwd: t.path });
  const first = s.spawnAbide(['accept', 'a', '--json']);
  await gate.reached();
  const second = s.spawnAbide(['accept', 'b', '--json']);
  await waitFor(async () => (await s.ok(['status'])).landing_queue.length === 2);
  const d = await s.ok(['status']);
  assert.deepEqual(d.landing_queue.map((q) => q.branch), [a.branch, b.branch]);
  assert.equal(row(d, 'a').running.verb, 'accept');
  assert.match((await s.abide(['status'])).stdout, /Landing queue\n +1 +\S+a /);
  second.kill('SIGINT');
  await second.done();
  // Somebody stands in it: it has landed, and stays until they have gone.
  const shell = s.spawn('cat', [], { cwd: a.path, stdin: 'pipe' });
  await gate.release(0);
  assert.equal((await first.done()).code, 0);
  const left = row(await s.ok(['status']), 'a');
  assert.equal(left.state, 'leaving');
  assert.ok(left.landed_at > 1.5e12);
  assert.match((await s.abide(['status'])).stdout, /landed, leaving/);
  shell.end();
  await shell.done();
  assert.equal(row(await s.ok(['status']), 'a'), undefined);
});
