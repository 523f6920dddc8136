// update: the trunk merged into a task, or nothing changed at all.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test, eachZoo, assert, waitFor, fileTreeDigest } from './lib/index.mjs';

/** A task with one commit of its own, and a trunk that has moved on. */
async function diverged(s, r, { mine = { 'mine.txt': 'm\n' }, theirs = { 'theirs.txt': 't\n' } } = {}) {
  const d = await s.ok(['start', 'x', '--exact']);
  if (mine) r.commit(mine, 'mine', { cwd: d.path });
  if (theirs) r.moveTo('main', r.commitOn('ahead', theirs, 'theirs', { from: 'main' }));
  return d;
}
/** Everything that a refused update must leave as it is. */
const state = (r, d) => JSON.stringify([
  fileTreeDigest(d.path, { ignore: (p) => p === '.git' }),
  fs.readFileSync(join(r.gitDir, 'worktrees/x/index')).toString('base64'),
  r.refs(), fs.existsSync(join(r.gitDir, 'worktrees/x/MERGE_HEAD')),
]);
const clean = (s, d) => assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');

eachZoo('the trunk is merged into the task', { except: ['unborn'] }, async (s, r) => {
  const d = await s.ok(['start', 'x', '--exact'], { cwd: r.main ?? r.dir });
  const before = r.commit({ 'mine.txt': 'm\n' }, 'mine', { cwd: d.path });
  const theirs = r.commitOn('ahead', { 'theirs.txt': 't\n' }, 'theirs', { from: 'main' });
  r.git(['update-ref', 'refs/heads/main', theirs]);
  const u = await s.ok(['update'], { cwd: d.path });
  assert.deepEqual([u.merged, u.before, u.commits, u.files, u.overlap, u.from], [true, before, 1, ['theirs.txt'], [], 'main']);
  assert.equal(u.after, r.tip('agent/x'));
  assert.equal(s.git(['log', '-1', '--format=%P'], { cwd: d.path }), `${before} ${theirs}`);
  assert.equal(fs.readFileSync(join(d.path, 'theirs.txt'), 'utf8'), 't\n');
  clean(s, d);
  // Again, there is nothing to do, which is success.
  const again = await s.ok(['update', 'x'], { cwd: r.main ?? r.dir });
  assert.deepEqual([again.merged, again.after, again.commits], [false, u.after, 0]);
});

test('without work of its own the task moves to the trunk', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r, { mine: null });
  const u = await s.ok(['update', 'x']);
  assert.equal(u.after, r.tip('main'));
  clean(s, d);
});

test('--from merges another branch, also a task by its name', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['start', 'x', '--exact']);
  const y = await s.ok(['start', 'y', '--exact']);
  const oid = r.commit({ 'y.txt': 'y\n' }, 'y', { cwd: y.path });
  assert.equal((await s.ok(['update', 'x', '--from', 'y'])).after, oid);
  await s.refused(['update', 'x', '--from', 'nope'], 'unknown_target');
  await s.refused(['update', 'x', '--from=--all'], 'unknown_target');
});

test('the overlap with the task\'s own changes is told', async (s) => {
  const r = await s.repo({ files: { 'both.txt': 'a\nb\nc\nd\ne\nf\ng\n' } });
  await diverged(s, r, { mine: { 'both.txt': 'A\nb\nc\nd\ne\nf\ng\n', 'm': '1' }, theirs: { 'both.txt': 'a\nb\nc\nd\ne\nf\nG\n', 't': '1' } });
  const u = await s.ok(['update', 'x']);
  assert.deepEqual(u.files, ['both.txt', 't']);
  assert.deepEqual(u.overlap, ['both.txt']);
});

test('a conflict lists the files and changes nothing at all', async (s) => {
  const r = await s.repo({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } });
  const d = await diverged(s, r, { mine: { 'a.txt': 'mine\n', 'b.txt': null }, theirs: { 'a.txt': 'theirs\n', 'b.txt': 'theirs\n', 'new.txt': 'n\n' } });
  s.write(join(d.path, 'untracked'), 'u\n');
  const before = state(r, d);
  const e = await s.refused(['update', 'x'], 'conflict');
  assert.deepEqual(e.data.files.sort(), ['a.txt', 'b.txt']);
  assert.match(e.message, /a\.txt/);
  assert.equal(state(r, d), before);
});

test('changes of tracked files are refused, untracked files are not in the way', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  s.write(join(d.path, 'README'), 'changed\n');
  const before = state(r, d);
  const e = await s.refused(['update', 'x'], 'dirty_worktree');
  assert.deepEqual(e.data.files, ['README']);
  assert.equal(state(r, d), before);
  s.git(['checkout', '-q', 'README'], { cwd: d.path });
  s.write(join(d.path, 'notes'), 'n\n');
  await s.ok(['update', 'x']);
  assert.equal(fs.readFileSync(join(d.path, 'notes'), 'utf8'), 'n\n');
});

test('untracked and ignored files are never written over', async (s) => {
  const r = await s.repo({ files: { '.gitignore': '*.env\n' } });
  const d = await diverged(s, r, { theirs: { 'theirs.txt': 't\n', 'deep/x.env': 'x\n' } });
  s.git(['add', '-f', 'deep/x.env'], { cwd: r.dir, ok: [0, 1, 128] });
  s.write(join(d.path, 'theirs.txt'), 'precious\n');
  const before = state(r, d);
  const e = await s.refused(['update', 'x'], 'dirty_worktree');
  assert.deepEqual(e.data.files, ['theirs.txt']);
  assert.equal(state(r, d), before);
  // An ignored one, and one where a folder has to be.
  fs.rmSync(join(d.path, 'theirs.txt'));
  const blob = r.git(['rev-parse', 'main:theirs.txt']);
  const tree = s.path('forced');
  s.git(['worktree', 'add', '-q', '-b', 'forced', tree, 'main'], { cwd: r.dir });
  s.write(join(tree, 'local.env'), 'tracked\n');
  s.write(join(tree, 'dir.env/file'), 'tracked\n');
  s.git(['add', '-f', 'local.env', 'dir.env/file'], { cwd: tree });
  s.git(['commit', '-qm', 'track what is ignored'], { cwd: tree });
  s.write(join(d.path, 'local.env'), 'precious\n');
  s.write(join(d.path, 'dir.env'), 'precious\n');
  const two = await s.refused(['update', 'x', '--from', 'forced'], 'dirty_worktree');
  assert.deepEqual(two.data.files.sort(), ['dir.env', 'local.env']);
  assert.equal(fs.readFileSync(join(d.path, 'local.env'), 'utf8'), 'precious\n');
  assert.ok(blob);
});

test('a merge or rebase that is under way is refused and left alone', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r, { mine: { 'README': 'mine\n' }, theirs: { 'README': 'theirs\n' } });
  s.git(['merge', 'main'], { cwd: d.path, ok: [1] });
  const before = state(r, d);
  assert.match((await s.refused(['update', 'x'], 'dirty_worktree')).message, /in the middle of a merge/);
  assert.equal(state(r, d), before);
  s.git(['merge', '--abort'], { cwd: d.path });
  s.git(['rebase', 'main'], { cwd: d.path, ok: [1] });
  assert.match((await s.refused(['update', 'x'], 'dirty_worktree')).message, /in the middle of a rebase/);
  assert.match((await s.refused(['update'], 'dirty_worktree', { cwd: d.path })).message, /in the middle of a rebase/);
});

test('who stands on no task is told', async (s) => {
  const r = await s.repo();
  await s.refused(['update'], 'not_on_task');
  await s.refused(['update', 'main'], 'not_on_task');
  await s.refused(['update', 'nope'], 'unknown_target');
  s.git(['checkout', '-q', '--detach'], { cwd: r.dir });
  await s.refused(['update'], 'not_on_task');
});

test('the main checkout on a feature branch is a task, too', async (s) => {
  const r = await s.repo();
  s.git(['checkout', '-q', '-b', 'feature'], { cwd: r.dir });
  const mine = r.commit({ 'f': '1' }, 'f');
  const theirs = r.commitOn('ahead', { 't': '1' }, 't', { from: 'main' });
  r.git(['update-ref', 'refs/heads/main', theirs]);
  const u = await s.ok(['update']);
  assert.equal(u.before, mine);
  assert.equal(u.after, r.tip('feature'));
});

for (const [name, config] of Object.entries({
  'merge.ff only': ['merge.ff', 'only'],
  'merge.ff no': ['merge.ff', 'no'],
  'mergeOptions --squash': ['branch.agent/x.mergeOptions', '--squash'],
  'mergeOptions --no-commit': ['branch.agent/x.mergeOptions', '--no-commit --no-ff'],
  'merge.autoStash': ['merge.autoStash', 'true'],
  'rerere': ['rerere.enabled', 'true'],
  'core.editor that hangs': ['core.editor', 'sleep 1000'],
})) {
  test(`the user's ${name} changes nothing in it`, async (s) => {
    const r = await s.repo();
    const d = await diverged(s, r);
    s.git(['config', ...config], { cwd: r.dir });
    const u = await s.ok(['update', 'x']);
    assert.equal(s.git(['rev-list', '--count', '--merges', `${u.before}..${u.after}`], { cwd: d.path }), '1');
    clean(s, d);
  });
}

test('hooks run; one that refuses leaves the task as it was', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  for (const hook of ['pre-merge-commit', 'prepare-commit-msg', 'commit-msg']) {
    const file = s.write(join(r.gitDir, 'hooks', hook), '#!/bin/sh\necho "no luck" >&2\nexit 1\n', { mode: 0o755 });
    const before = [r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })];
    const e = await s.refused(['update', 'x'], 'git_failed');
    assert.match(e.message, /no luck/, hook);
    assert.deepEqual([r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })], before, hook);
    assert.equal(fs.existsSync(join(r.gitDir, 'worktrees/x/MERGE_HEAD')), false);
    clean(s, d);
    fs.rmSync(file);
  }
  s.write(join(r.gitDir, 'hooks/post-merge'), '#!/bin/sh\npwd > ../seen\nexit 1\n', { mode: 0o755 });
  await s.ok(['update', 'x']);
  assert.equal(fs.readFileSync(join(d.path, '../seen'), 'utf8').trim(), d.path);
  fs.rmSync(join(d.path, '../seen'));
});

test('a signature that cannot be made is told, without asking', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  s.program('no-gpg', 'echo "gpg: no key" >&2; exit 2');
  s.git(['config', 'gpg.program', 'no-gpg'], { cwd: r.dir });
  s.git(['config', 'commit.gpgsign', 'true'], { cwd: r.dir });
  const before = [r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })];
  await s.refused(['update', 'x'], 'signing_failed');
  assert.deepEqual([r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })], before);
  clean(s, d);
});

test('a missing identity is told', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  fs.writeFileSync(s.gitconfig, '[init]\n\tdefaultBranch = main\n[user]\n\tuseConfigOnly = true\n');
  const e = await s.refused(['update', 'x'], 'git_failed');
  assert.match(e.hints.join(), /user\.name/);
  clean(s, d);
});

test('setup runs again when something was merged, and only then', async (s) => {
  const r = await s.repo({ files: { '.gitignore': 'log\n' }, yaml: 'setup: ["echo $ABIDE_ID >> log"]\n' });
  const d = await diverged(s, r);
  assert.equal(fs.readFileSync(join(d.path, 'log'), 'utf8'), 'x\n');
  await s.ok(['update', 'x']);
  await s.ok(['update', 'x']);
  assert.equal(fs.readFileSync(join(d.path, 'log'), 'utf8'), 'x\nx\n');
});

test('a failing setup leaves the merge and says so', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r, { theirs: { 'abide.yaml': 'setup: ["exit 7"]\n' } });
  const e = await s.refused(['update', 'x'], 'interrupted');
  assert.equal(e.data.exit, 7);
  assert.equal(e.data.after, r.tip('agent/x'));
  clean(s, d);
});

test('a worktree whose .git file was changed is not entered', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  const evil = s.path('evil');
  s.git(['init', '-q', evil]);
  s.git(['config', 'core.fsmonitor', `touch ${s.path('ran')}; false`], { cwd: evil });
  const pointer = fs.readFileSync(join(d.path, '.git'), 'utf8');
  for (const plant of [
    () => fs.writeFileSync(join(d.path, '.git'), `gitdir: ${join(evil, '.git')}\n`),
    () => { fs.rmSync(join(d.path, '.git')); fs.cpSync(join(evil, '.git'), join(d.path, '.git'), { recursive: true }); },
    () => { fs.rmSync(join(d.path, '.git'), { recursive: true }); fs.symlinkSync(join(evil, '.git'), join(d.path, '.git')); },
    () => fs.rmSync(join(d.path, '.git')),
  ]) {
    plant();
    await s.refused(['update', 'x'], 'worktree_tampered');
    assert.equal(fs.existsSync(s.path('ran')), false);
  }
  fs.writeFileSync(join(d.path, '.git'), pointer);
  await s.ok(['update', 'x']);
});

test('a relative .git pointer to the right place is fine', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  fs.writeFileSync(join(d.path, '.git'), 'gitdir: ../../repo/.git/worktrees/x\n');
  await s.ok(['update', 'x']);
});

test('a missing worktree is told', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  fs.renameSync(d.path, s.path('moved'));
  await s.refused(['update', 'x'], 'worktree_missing');
});

// --- Killed and interrupted --------------------------------------------------------------------

for (const seam of ['update:begun', 'update:merged', 'update:done']) {
  test(`kill -9 at ${seam}: the next verb puts it right`, async (s) => {
    const r = await s.repo();
    const d = await diverged(s, r);
    const before = r.tip('agent/x');
    await s.abide(['update', 'x'], { env: { ABIDE_TEST_KILL_AT: seam } });
    await s.refused(['update', 'nope'], 'unknown_target');
    clean(s, d);
    assert.equal(r.tip('agent/x') === before, seam === 'update:begun');
    await s.ok(['update', 'x']);
    clean(s, d);
  });
}

test('kill -9 while a hook runs: the merge gets to its end or is taken back', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  const f = s.fifo();
  s.write(join(r.gitDir, 'hooks/pre-merge-commit'), `#!/bin/sh\n${f.script}\n`, { mode: 0o755 });
  const p = s.spawnAbide(['update', 'x', '--json']);
  await f.reached();
  p.kill('SIGKILL');
  await p.done();
  // The merge is still alive: nobody aborts it.
  const looking = s.spawnAbide(['update', 'nope', '--json']);
  await f.release(1);
  await looking.done();
  await s.refused(['update', 'nope'], 'unknown_target');
  assert.equal(fs.existsSync(join(r.gitDir, 'worktrees/x/MERGE_HEAD')), false);
  clean(s, d);
});

test('a merge that the user began after a crash is left alone', async (s) => {
  const r = await s.repo({ files: { 'a.txt': 'a\n' } });
  const d = await diverged(s, r);
  await s.abide(['update', 'x'], { env: { ABIDE_TEST_KILL_AT: 'update:begun' } });
  s.git(['merge', '--no-commit', '--no-ff', 'main'], { cwd: d.path });
  await s.refused(['update', 'nope'], 'unknown_target');
  assert.ok(fs.existsSync(join(r.gitDir, 'worktrees/x/MERGE_HEAD')));
  assert.ok(fs.existsSync(join(d.path, 'theirs.txt')));
});

test('a merge killed while it wrote files is taken back', async (s) => {
  const r = await s.repo({ files: { 'a.txt': 'a\n', 'z.txt': 'z\n' } });
  const d = await diverged(s, r, { theirs: { 'a.txt': 'new a\n', 'new.txt': 'some longer text\n', 'z.txt': null } });
  await s.abide(['update', 'x'], { env: { ABIDE_TEST_KILL_AT: 'update:begun' } });
  // As git leaves it: files partly new, one cut short, one removed, the index locked and old.
  fs.writeFileSync(join(d.path, 'a.txt'), 'new a\n');
  fs.writeFileSync(join(d.path, 'new.txt'), 'some lon');
  fs.rmSync(join(d.path, 'z.txt'));
  fs.writeFileSync(join(r.gitDir, 'worktrees/x/index.lock'), '');
  await s.refused(['update', 'nope'], 'unknown_target');
  assert.equal(fs.existsSync(join(r.gitDir, 'worktrees/x/index.lock')), false);
  clean(s, d);
  assert.equal(fs.existsSync(join(d.path, 'new.txt')), false);
  await s.ok(['update', 'x']);
});

test('what cannot be explained by the merge is left', async (s) => {
  const r = await s.repo({ files: { 'a.txt': 'a\n' } });
  const d = await diverged(s, r, { theirs: { 'a.txt': 'new a\n' } });
  await s.abide(['update', 'x'], { env: { ABIDE_TEST_KILL_AT: 'update:begun' } });
  fs.writeFileSync(join(d.path, 'a.txt'), 'the user\'s own\n');
  await s.refused(['update', 'x'], 'dirty_worktree');
  assert.equal(fs.readFileSync(join(d.path, 'a.txt'), 'utf8'), 'the user\'s own\n');
});

test('SIGINT during a hook takes the merge back', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  const f = s.fifo();
  s.write(join(r.gitDir, 'hooks/pre-merge-commit'), `#!/bin/sh\n${f.script}\n`, { mode: 0o755 });
  const before = [r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })];
  const p = s.spawnAbide(['update', 'x', '--json']);
  await f.reached();
  p.kill('SIGINT');
  const result = await p.done();
  assert.equal(result.code, 130);
  assert.equal(result.json.error, 'cancelled');
  assert.deepEqual([r.refs(), fileTreeDigest(d.path, { ignore: (p) => p === '.git' })], before);
  assert.equal(fs.existsSync(join(r.gitDir, 'worktrees/x/MERGE_HEAD')), false);
  clean(s, d);
});

test('an index.lock of another git is told and left', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  const lock = join(r.gitDir, 'worktrees/x/index.lock');
  fs.writeFileSync(lock, '');
  const e = await s.refused(['update', 'x'], 'busy');
  assert.match(e.message, /index\.lock/);
  assert.ok(fs.existsSync(lock));
  fs.rmSync(lock);
  clean(s, d);
  await s.ok(['update', 'x']);
});

test('two updates of one task at once: one merge', async (s) => {
  const r = await s.repo();
  const d = await diverged(s, r);
  const both = await Promise.all([s.abide(['update', 'x', '--json']), s.abide(['update', 'x', '--json'])]);
  assert.ok(both.some((x) => x.json.ok));
  for (const x of both) assert.ok(x.json.ok || ['busy', 'dirty_worktree'].includes(x.json.error), x.stdout);
  assert.equal(s.git(['rev-list', '--count', '--merges', 'HEAD'], { cwd: d.path }), '1');
  clean(s, d);
});
