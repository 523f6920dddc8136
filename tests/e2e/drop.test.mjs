// drop: removal of a task that is given up, after saying what would be lost.
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test, eachZoo, assert, waitFor } from './lib/index.mjs';

const worktrees = (r) => r.git(['worktree', 'list', '--porcelain']).split('\n').filter((l) => l.startsWith('worktree ')).length;
const from = (r) => ({ cwd: r.main ?? r.dir });

eachZoo('a task with nothing to lose is dropped', { except: ['unborn'] }, async (s, r) => {
  const before = worktrees(r);
  const refs = r.refs();
  const d = await s.ok(['start', 'x', '--exact'], from(r));
  const gone = await s.ok(['drop', 'x'], from(r));
  assert.deepEqual([gone.removed, gone.branch_deleted, gone.path], [true, true, d.path]);
  assert.equal(fs.existsSync(d.path), false);
  assert.equal(fs.existsSync(dirname(d.path)), false, 'the empty folder of worktrees stayed');
  assert.equal(worktrees(r), before);
  assert.deepEqual(r.refs(), refs);
  await s.refused(['drop', 'x'], 'unknown_target', from(r));
  // The name is free again.
  await s.ok(['start', 'x', '--exact'], from(r));
});

eachZoo('a foreign worktree on a branch of any name is dropped', { only: ['branch-slashes', 'branch-nfc', 'branch-nfd', 'branch-quotes', 'branch-describe-like', 'branch-leading-dash'] }, async (s, r) => {
  const tree = s.path('elsewhere');
  s.git(['worktree', 'add', '-q', '--detach', tree, `refs/heads/${r.task}`], { cwd: r.dir });
  s.git(['symbolic-ref', 'HEAD', `refs/heads/${r.task}`], { cwd: tree });
  const e = await s.refused(['drop', `refs/heads/${r.task}`], 'would_lose');
  assert.equal(e.data.losses.commits.length, 1);
  await s.ok(['drop', '--force', `refs/heads/${r.task}`]);
  assert.equal(fs.existsSync(tree), false);
  assert.equal(r.tip(r.task), null);
});

test('what would be lost is named, and nothing is removed', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  const oid = r.commit({ 'mine.txt': '1\n' }, 'only here', { cwd: d.path });
  s.write(join(d.path, 'README'), 'changed\n');
  s.write(join(d.path, 'new/file'), 'new\n');
  const refs = r.refs();
  const e = await s.refused(['drop', 'x'], 'would_lose');
  assert.deepEqual(e.data.losses.uncommitted, ['README']);
  assert.deepEqual(e.data.losses.untracked, ['new/']);
  assert.deepEqual(e.data.losses.commits, [{ commit: oid, subject: 'only here' }]);
  assert.match(e.message, /1 uncommitted change, 1 untracked file, 1 commit on no other branch/);
  assert.ok(fs.existsSync(join(d.path, 'new/file')));
  assert.deepEqual(r.refs(), refs);
  await s.ok(['drop', 'x', '--force']);
  assert.equal(fs.existsSync(d.path), false);
  assert.equal(r.tip('agent/x'), null);
});

test('each kind of loss alone refuses', async (s) => {
  const r = await s.repo();
  const losses = {
    staged: (d) => { s.write(join(d.path, 'README'), 'x\n'); s.git(['add', '-A'], { cwd: d.path }); },
    untracked: (d) => s.write(join(d.path, 'u'), 'x\n'),
    commit: (d) => r.commit({ 'c': '1' }, 'c', { cwd: d.path }),
    detached: (d) => { s.git(['checkout', '-q', '--detach'], { cwd: d.path }); r.commit({ 'c': '1' }, 'c', { cwd: d.path }); },
    nested: (d) => s.git(['init', '-q', join(d.path, 'nested')]),
    merge: (d) => {
      const oid = r.commitOn('side', { 's': '1' }, 's');
      s.git(['merge', '-q', '--no-commit', '--no-ff', oid], { cwd: d.path });
    },
  };
  for (const [name, lose] of Object.entries(losses)) {
    const d = await s.ok(['start', name, '--exact']);
    lose(d);
    await s.refused(['drop', d.path], 'would_lose').catch((e) => { throw new Error(`${name}: ${e.message}`); });
    assert.ok(fs.existsSync(d.path), name);
    assert.ok(r.tip(`agent/${name}`), name);
    await s.ok(['drop', d.path, '--force']);
    assert.equal(fs.existsSync(d.path), false);
  }
});

test('commits that another branch, a remote or a tag has are not lost', async (s) => {
  const r = await s.repo();
  for (const keep of [['branch', 'other'], ['tag', 'kept'], ['update-ref', 'refs/remotes/origin/x']]) {
    const d = await s.ok(['start', 'x', '--exact']);
    const oid = r.commit({ [keep[1]]: '1\n' }, 'work', { cwd: d.path });
    r.git([...keep, oid]);
    await s.ok(['drop', 'x']);
    assert.equal(fs.existsSync(d.path), false);
  }
});

test('a gone upstream is no leave to lose commits', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  const oid = r.commit({ 'w': '1\n' }, 'work', { cwd: d.path });
  s.git(['config', 'branch.agent/x.remote', 'origin'], { cwd: r.dir });
  s.git(['config', 'branch.agent/x.merge', 'refs/heads/agent/x'], { cwd: r.dir });
  const e = await s.refused(['drop', 'x'], 'would_lose');
  assert.equal(e.data.losses.commits[0].commit, oid);
  await s.ok(['drop', 'x', '--force']);
  assert.equal(s.git(['config', '--get-regexp', '^branch\\.agent'], { cwd: r.dir, ok: [1] }).code, 1);
});

test('a rebase that is under way is named', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  r.commit({ 'README': 'theirs\n' }, 'theirs', { cwd: d.path });
  r.commit({ 'README': 'ours\n' }, 'ours');
  s.git(['rebase', 'main'], { cwd: d.path, ok: [1] });
  const e = await s.refused(['drop', 'x'], 'would_lose');
  assert.equal(e.data.losses.under_way, 'rebase');
  assert.equal(e.data.losses.commits.length, 1);
});

test('a locked worktree is refused always, also when its folder is gone', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  r.git(['worktree', 'lock', '--reason', 'on a stick', d.path]);
  for (const args of [['drop', 'x'], ['drop', 'x', '--force']]) {
    assert.match((await s.refused(args, 'worktree_locked')).message, /on a stick/);
  }
  fs.renameSync(d.path, s.path('stick'));
  for (const args of [['drop', 'x'], ['drop', 'x', '--force']]) await s.refused(args, 'worktree_locked');
  assert.equal(worktrees(r), 2);
  assert.ok(r.tip('agent/x'));
});

test('a missing folder: the registration goes, commits are asked about', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  r.commit({ 'w': '1\n' }, 'work', { cwd: d.path });
  fs.rmSync(d.path, { recursive: true });
  await s.refused(['drop', 'x'], 'would_lose');
  await s.ok(['drop', 'x', '--force']);
  assert.equal(worktrees(r), 1);
  assert.equal(r.tip('agent/x'), null);
});

test('another repository at the registered path is not touched', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  fs.rmSync(d.path, { recursive: true });
  s.git(['clone', '-q', r.dir, d.path]);
  fs.writeFileSync(join(d.path, 'precious'), 'precious');
  for (const args of [['drop', 'x'], ['drop', 'x', '--force']]) await s.refused(args, 'worktree_tampered');
  // A worktree of another repository that was moved there, neither.
  fs.rmSync(d.path, { recursive: true });
  const other = await s.repo({ name: 'other' });
  s.git(['worktree', 'add', '-q', d.path], { cwd: other.dir });
  fs.writeFileSync(join(d.path, 'precious'), 'precious');
  for (const args of [['drop', 'x'], ['drop', 'x', '--force']]) await s.refused(args, 'worktree_tampered');
  assert.equal(fs.readFileSync(join(d.path, 'precious'), 'utf8'), 'precious');
});

test('a state that cannot be read is not taken for clean', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  fs.writeFileSync(join(r.gitDir, 'worktrees/x/index'), 'no index');
  await s.refused(['drop', 'x'], 'git_failed');
  assert.ok(fs.existsSync(d.path));
});

test('commits of a submodule that no remote has are work, too', async (s) => {
  const r = await s.repo({ zoo: 'submodules' });
  const d = await s.ok(['start', 'x', '--exact']);
  s.git(['submodule', 'update', '-q', '--init'], { cwd: d.path });
  await s.ok(['drop', 'x']);
  const e = await s.ok(['start', 'x', '--exact']);
  s.git(['submodule', 'update', '-q', '--init'], { cwd: e.path });
  r.commit({ 'inner2.txt': 'x\n' }, 'inner work', { cwd: join(e.path, 'sub') });
  s.git(['commit', '-qam', 'move sub'], { cwd: e.path });
  r.moveTo('main', s.git(['rev-parse', 'HEAD'], { cwd: e.path }));
  const refused = await s.refused(['drop', 'x'], 'would_lose');
  assert.deepEqual(refused.data.losses.submodules, ['sub']);
  await s.ok(['drop', 'x', '--force']);
});

test('nobody is dropped from under his feet, unless that is meant', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  const shell = s.spawn('sleep', ['1000'], { cwd: d.path });
  await waitFor(() => fs.readlinkSync(`/proc/${shell.pid}/cwd`) === d.path, { what: 'the shell is inside' });
  const e = await s.refused(['drop', 'x'], 'busy');
  assert.match(e.data.inside[0], new RegExp(`^${shell.pid} `));
  assert.ok(fs.existsSync(d.path));
  const result = await s.abide(['drop', 'x', '--force', '--json']);
  assert.equal(result.code, 0);
  assert.match(result.json.warnings.join(), /Processes stood inside/);
  shell.kill('SIGKILL');
  await shell.done();
});

test('drop is called from the main checkout', async (s) => {
  const r = await s.repo();
  const a = await s.ok(['start', 'a', '--exact']);
  await s.ok(['start', 'b', '--exact']);
  await s.refused(['drop', 'b'], 'unauthorized', { cwd: a.path });
  await s.refused(['drop', 'a'], 'unauthorized', { cwd: a.path });
  await s.refused(['drop'], 'invalid_arguments');
  r.worktree('feature', { path: s.path('f') });
  s.git(['checkout', '-q', '--detach'], { cwd: r.dir });
  s.git(['worktree', 'add', '-q', s.path('t'), 'main'], { cwd: r.dir });
  await s.refused(['drop', s.path('t')], 'not_on_task');
  await s.ok(['drop', 'feature']);
});

test('single ignored files are kept for a week, made folders go', async (s) => {
  const r = await s.repo({ files: { '.gitignore': '.env\n*.db\nnode_modules/\n' }, yaml: 'copy: [.env]\n' });
  s.write(join(r.dir, '.env'), 'A=1\n');
  const d = await s.ok(['start', 'x', '--exact']);
  s.write(join(d.path, 'data/local.db'), 'rows\n');
  s.write(join(d.path, 'node_modules/a/b.js'), 'x\n');
  const old = join(r.gitDir, 'abide/kept/older');
  fs.mkdirSync(old, { recursive: true });
  fs.utimesSync(old, 1, 1);
  const gone = await s.ok(['drop', 'x']);
  assert.deepEqual(gone.kept, ['data/local.db']);
  assert.equal(gone.kept_in, join(r.gitDir, 'abide/kept/x'));
  assert.equal(fs.readFileSync(join(gone.kept_in, 'data/local.db'), 'utf8'), 'rows\n');
  assert.equal(fs.existsSync(d.path), false);
  assert.equal(fs.existsSync(old), false, 'what was kept for more than a week stayed');
  // A copied file that was changed is the user's.
  const e = await s.ok(['start', 'x', '--exact']);
  s.write(join(e.path, '.env'), 'A=2\n');
  const again = await s.ok(['drop', 'x']);
  assert.deepEqual(again.kept, ['.env']);
  assert.equal(fs.readFileSync(join(again.kept_in, '.env'), 'utf8'), 'A=2\n');
  assert.equal(fs.readFileSync(join(gone.kept_in, 'data/local.db'), 'utf8'), 'rows\n');
});

test('more than 20 MiB of ignored files keep the worktree', async (s) => {
  const r = await s.repo({ files: { '.gitignore': '*.db\n' } });
  const d = await s.ok(['start', 'x', '--exact']);
  s.write(join(d.path, 'big.db'), Buffer.alloc(21 << 20));
  const e = await s.refused(['drop', 'x'], 'would_lose');
  assert.match(e.message, /20 MiB/);
  assert.ok(fs.existsSync(join(d.path, 'big.db')));
  assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
  await s.ok(['drop', 'x', '--force']);
});

test('a folder without write permission goes, too', async (s) => {
  await s.repo({ files: { '.gitignore': 'cache/\n' } });
  const d = await s.ok(['start', 'x', '--exact']);
  s.write(join(d.path, 'cache/mod/file'), 'x');
  fs.chmodSync(join(d.path, 'cache/mod'), 0o555);
  await s.ok(['drop', 'x']);
  assert.equal(fs.existsSync(d.path), false);
});

for (const seam of ['remove:begun', 'remove:pulled', 'remove:unregistered', 'remove:branch-deleted', 'remove:gone']) {
  test(`kill -9 at ${seam}: the next verb finishes it`, async (s) => {
    const r = await s.repo();
    const d = await s.ok(['start', 'x', '--exact']);
    const other = await s.ok(['start', 'y', '--exact']);
    const dead = await s.abide(['drop', 'x'], { env: { ABIDE_TEST_KILL_AT: seam } });
    assert.equal(dead.signal, 'SIGKILL');
    await s.refused(['drop', 'nothing'], 'unknown_target'); // a verb that looks
    assert.deepEqual(fs.readdirSync(dirname(d.path)), ['y']);
    assert.equal(worktrees(r), 2);
    assert.equal(r.tip('agent/x'), null);
    assert.ok(fs.existsSync(join(other.path, 'README')));
    await s.ok(['start', 'x', '--exact']);
  });
}

test('a killed removal loses nothing that came in meanwhile', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  await s.abide(['drop', 'x'], { env: { ABIDE_TEST_KILL_AT: 'remove:begun' } });
  s.write(join(d.path, 'late'), 'late\n');
  await s.refused(['drop', 'nothing'], 'unknown_target');
  assert.equal(fs.readFileSync(join(d.path, 'late'), 'utf8'), 'late\n');
  assert.ok(r.tip('agent/x'));
  const e = await s.refused(['drop', 'x'], 'would_lose');
  assert.deepEqual(e.data.losses.untracked, ['late']);
});

test('what was made at the same names after a kill is left alone', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  await s.abide(['drop', 'x'], { env: { ABIDE_TEST_KILL_AT: 'remove:unregistered' } });
  s.git(['worktree', 'add', '-q', d.path, 'agent/x'], { cwd: r.dir });
  s.write(join(d.path, 'mine'), 'mine\n');
  await s.refused(['drop', 'nothing'], 'unknown_target');
  assert.equal(fs.readFileSync(join(d.path, 'mine'), 'utf8'), 'mine\n');
  assert.ok(r.tip('agent/x'));
});

test('parallel drops', async (s) => {
  const r = await s.repo();
  for (let i = 0; i < 8; i++) await s.ok(['start', `t${i}`, '--exact']);
  await Promise.all(Array.from({ length: 8 }, (_, i) => s.ok(['drop', `t${i}`], { timeout: 120000 })));
  assert.equal(worktrees(r), 1);
  assert.equal(r.git(['for-each-ref', 'refs/heads/agent']), '');
});

test('two drops of one task: one does it', async (s) => {
  const r = await s.repo();
  await s.ok(['start', 'x', '--exact']);
  const both = await Promise.all([s.abide(['drop', 'x', '--json']), s.abide(['drop', 'x', '--json'])]);
  assert.ok(both.some((x) => x.json.ok));
  for (const x of both) assert.ok(x.json.ok || ['busy', 'unknown_target'].includes(x.json.error), x.stdout);
  assert.equal(worktrees(r), 1);
});
