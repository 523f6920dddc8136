// start: a branch, a worktree and an identity, whole or not at all.
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { test, eachZoo, assert, waitFor, fileTreeDigest } from './lib/index.mjs';

const worktrees = (r) => r.git(['worktree', 'list', '--porcelain']).split('\n').filter((l) => l.startsWith('worktree ')).length;
const agentRefs = (r) => r.git(['for-each-ref', '--format=%(refname)', 'refs/heads/agent/']);
/** Where `start` puts the worktrees of a repository that lies in the sandbox. */
const home = (r) => join(dirname(r.gitDir.endsWith('/.git') ? dirname(r.gitDir) : r.gitDir),
  `${basename(r.gitDir.endsWith('/.git') ? dirname(r.gitDir) : r.gitDir).replace(/\.git$/, '')}.worktrees`);

/** Nothing of a start is there: no branch, no folder, no registration. */
function assertNothing(r, before) {
  assert.equal(agentRefs(r), '');
  assert.equal(worktrees(r), before);
  assert.equal(fs.existsSync(home(r)), false, `${home(r)} stayed: ${fs.existsSync(home(r)) && fs.readdirSync(home(r))}`);
}

eachZoo('start makes branch and worktree from the trunk', { except: ['unborn'] }, async (s, r) => {
  const before = worktrees(r);
  const d = await s.ok(['start', 'Fix Login!'], { cwd: r.dir });
  assert.match(d.id, /^fix-login-[b-df-hj-np-tv-z2-9]{4}$/);
  assert.equal(d.branch, `agent/${d.id}`);
  assert.equal(basename(d.path), d.id);
  assert.equal(d.base, r.tip('main'));
  assert.equal(d.from, 'main');
  assert.ok(d.port >= 20000 && d.port < 30000);
  assert.equal(r.head('HEAD', { cwd: d.path }), d.base);
  assert.equal(s.git(['symbolic-ref', 'HEAD'], { cwd: d.path }), `refs/heads/${d.branch}`);
  assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
  assert.equal(worktrees(r), before + 1);
  assert.doesNotMatch(r.git(['worktree', 'list', '--porcelain']), /^locked/m);
  assert.equal(s.git(['config', '--get-regexp', '^branch\\.agent'], { cwd: d.path, ok: [1] }).code, 1);
  // A commit there is an ordinary commit.
  const oid = r.commit({ 'new.txt': 'x\n' }, 'work', { cwd: d.path });
  assert.equal(r.tip(d.branch), oid);
});

test('an unborn repository is refused', async (s) => {
  const r = await s.repo({ zoo: 'unborn' });
  await s.refused(['start', 'x'], 'no_commits');
  assert.equal(r.hasStore(), false);
});

test('a repository without a trunk is refused', async (s) => {
  const r = await s.repo();
  s.git(['branch', '-m', 'main', 'elsewhere'], { cwd: r.dir });
  await s.refused(['start', 'x'], 'no_trunk');
});

test('the base is the trunk, whatever the main checkout stands on', async (s) => {
  const r = await s.repo();
  r.commitOn('feature', { 'f.txt': 'f\n' }, 'feature');
  s.git(['checkout', '-q', 'feature'], { cwd: r.dir });
  const d = await s.ok(['start', 'x']);
  assert.equal(d.base, r.tip('main'));
});

test('--from begins at a branch, a tag, a commit, another task', async (s) => {
  const r = await s.repo();
  const oid = r.commitOn('feature', { 'f.txt': 'f\n' }, 'feature');
  s.git(['tag', 'v1', oid], { cwd: r.dir });
  for (const from of ['feature', 'v1', oid, oid.slice(0, 12)]) {
    const d = await s.ok(['start', 'x', '--from', from]);
    assert.equal(d.base, oid);
    assert.equal(d.from, from);
  }
  const a = await s.ok(['start', 'base', '--exact', '--from', 'feature']);
  const b = await s.ok(['start', 'top', '--from', 'base']);
  assert.equal(b.base, a.base);
});

test('an unknown --from is refused and makes nothing', async (s) => {
  const r = await s.repo();
  for (const from of ['nope', '-x', '--all', 'main^{tree}', 'a..b', '']) {
    await s.refused(['start', 'x', `--from=${from}`], 'unknown_target');
  }
  assertNothing(r, 1);
});

test('two words name a task that has no name', async (s) => {
  await s.repo();
  const d = await s.ok(['start']);
  assert.match(d.id, /^[a-z]+-[a-z]+$/);
});

test('hostile names become plain ones', async (s) => {
  const r = await s.repo();
  const names = {
    '../x': /^x-/, '/etc/passwd': /^etc-passwd-/, 'a\nb': /^a-b-/, "it's \"q\" $HOME `id`": /^it-s-q-home-id-/, '日本語': /^日本語-/,
    'café': /^café-/, 'cafe\u0301': /./, ['x'.repeat(3000)]: /^x{20,60}-.{4}$/, '🎉🎉': /./, '...': /^[a-z]+-[a-z]+$/, ';rm -rf /': /^rm-rf-/,
    '\u202etxt': /^txt-/, '-g1234abc': /^g1234abc-/,
  };
  for (const [name, expected] of Object.entries(names)) {
    const d = await s.ok(['start', '--', name]).catch(async () => s.ok(['start', name.replace(/^-+/, '')]));
    assert.match(d.id, expected, JSON.stringify(name));
    assert.equal(dirname(d.path), home(r));
    assert.doesNotMatch(d.id, /-g[0-9a-f]+$/);
  }
  assert.deepEqual(fs.readdirSync(s.dir).filter((n) => n === 'x'), []);
});

test('--exact takes the name as it is', async (s) => {
  const r = await s.repo();
  for (const name of ['fix', 'Fix.2', '日本語', 'cafe\u0301', 'caf\u00e9', "it's-\"q\"-$HOME-`id`", '🎉', 'x-g1234abc', 'a b'.replace(' ', '_')]) {
    const d = await s.ok(['start', '--exact', name]);
    assert.equal(d.id, name);
    assert.equal(d.branch, `agent/${name}`);
    assert.equal(basename(d.path), name);
    assert.equal(r.tip(`agent/${name}`), d.base);
  }
});

test('--exact refuses what cannot be a branch', async (s) => {
  const r = await s.repo();
  for (const name of ['../x', 'a b', 'a\nb', '.hidden', 'x.lock', 'a..b', 'x'.repeat(300), 'a/', 'a:b', '@{u}', '']) {
    await s.refused(['start', '--exact', `${name}`], 'invalid_arguments').catch((e) => { throw new Error(`${JSON.stringify(name)}: ${e.message}`); });
  }
  await s.refused(['start', '--exact'], 'invalid_arguments');
  assertNothing(r, 1);
});

test('--exact refuses a branch, a folder, an id that is taken', async (s) => {
  const r = await s.repo();
  await s.ok(['start', 'one', '--exact']);
  assert.equal((await s.refused(['start', 'one', '--exact'], 'ambiguous_target')).data.taken_by, 'the branch');
  r.branch('agent/two');
  await s.refused(['start', 'two', '--exact'], 'ambiguous_target');
  fs.mkdirSync(join(home(r), 'three'));
  fs.writeFileSync(join(home(r), 'three/mine'), 'mine');
  assert.equal((await s.refused(['start', 'three', '--exact'], 'ambiguous_target')).data.taken_by, 'the folder');
  assert.equal(fs.readFileSync(join(home(r), 'three/mine'), 'utf8'), 'mine');
  // git can keep no branch a beside a/b.
  await s.refused(['start', 'one/more', '--exact'], 'ambiguous_target');
  await s.ok(['start', 'deep/er', '--exact']);
  await s.refused(['start', 'deep', '--exact'], 'ambiguous_target');
});

test('feat/x and feat-x never share a folder', async (s) => {
  await s.repo();
  const a = await s.ok(['start', 'feat/x', '--exact']);
  const b = await s.ok(['start', 'feat-x', '--exact']);
  assert.equal(a.branch, 'agent/feat/x');
  assert.equal(b.branch, 'agent/feat-x');
  assert.notEqual(a.path, b.path);
});

test('--branch adopts a branch that has no worktree', async (s) => {
  const r = await s.repo();
  const oid = r.commitOn('old/idea', { 'f.txt': 'f\n' }, 'idea');
  const d = await s.ok(['start', '--branch', 'old/idea']);
  assert.equal(d.branch, 'old/idea');
  assert.equal(d.adopted, true);
  assert.equal(d.base, r.tip('main'));
  assert.equal(r.head('HEAD', { cwd: d.path }), oid);
  const e = await s.refused(['start', '--branch', 'old/idea'], 'busy');
  assert.ok(e.message.includes(d.path));
  assert.equal(e.data.worktree, d.path);
  await s.refused(['start', '--branch', 'nope'], 'unknown_target');
  await s.refused(['start', '--branch', 'main'], 'not_on_task');
  await s.refused(['start', '--branch', 'old/idea', '--from', 'main'], 'invalid_arguments');
});

eachZoo('a branch of any name is adopted', { only: ['branch-slashes', 'branch-nfc', 'branch-nfd', 'branch-leading-dash', 'branch-quotes', 'branch-describe-like'] }, async (s, r) => {
  const d = await s.ok(['start', `--branch=${r.task}`]);
  assert.equal(d.branch, r.task);
  assert.equal(s.git(['symbolic-ref', 'HEAD'], { cwd: d.path }), `refs/heads/${r.task}`);
  assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
});

test('a branch that a rebase holds is not adopted', async (s) => {
  const r = await s.repo();
  r.commitOn('feature', { 'README': 'theirs\n' }, 'feature');
  r.commit({ 'README': 'ours\n' }, 'ours');
  const tree = r.worktree('feature', { path: s.path('f') });
  s.git(['rebase', 'main'], { cwd: tree, ok: [1] });
  const e = await s.refused(['start', '--branch', 'feature'], 'busy');
  assert.ok(e.message.includes(tree));
});

test('--dry-run changes nothing and says what would be made', async (s) => {
  const r = await s.repo();
  const before = fileTreeDigest(r.dir);
  const d = await s.ok(['start', 'x', '--exact', '--dry-run']);
  assert.deepEqual([d.id, d.branch, d.path, d.base, d.dry_run], ['x', 'agent/x', join(home(r), 'x'), r.tip('main'), true]);
  assert.equal(fileTreeDigest(r.dir), before);
  assertNothing(r, 1);
  assert.equal(r.hasStore(), false);
  await s.ok(['start', 'x', '--exact']);
  await s.refused(['start', 'x', '--exact', '--dry-run'], 'ambiguous_target');
});

test('copy brings ignored files and nothing else', async (s) => {
  const r = await s.repo({
    files: { '.gitignore': '.env\n*.local\nlink*\nout/\n', 'plain.txt': 'p\n' },
    yaml: 'copy: [.env, deep/x.local, plain.txt, link-out, link-in, missing.local, seen.txt]\n',
  });
  s.write(join(r.dir, '.env'), 'A=1\n', { mode: 0o600 });
  s.write(join(r.dir, 'deep/x.local'), 'x\n');
  s.write(join(r.dir, 'seen.txt'), 'untracked\n');
  s.write('secret', 'secret\n');
  fs.symlinkSync('../secret', join(r.dir, 'link-out'));
  fs.symlinkSync('.env', join(r.dir, 'link-in'));
  const result = await s.abide(['start', 'x', '--json']);
  const d = result.json.data;
  assert.deepEqual(d.copied.sort(), ['.env', 'deep/x.local', 'link-in']);
  assert.equal(fs.readFileSync(join(d.path, '.env'), 'utf8'), 'A=1\n');
  assert.equal(fs.statSync(join(d.path, '.env')).mode & 0o777, 0o600);
  assert.equal(fs.readFileSync(join(d.path, 'deep/x.local'), 'utf8'), 'x\n');
  assert.equal(fs.lstatSync(join(d.path, 'link-in')).isSymbolicLink(), false);
  assert.equal(fs.existsSync(join(d.path, 'link-out')), false);
  assert.equal(fs.existsSync(join(d.path, 'seen.txt')), false);
  const told = result.json.warnings.join('\n');
  for (const name of ['plain.txt', 'link-out', 'seen.txt']) assert.ok(told.includes(name), told);
  assert.ok(!told.includes('missing.local'));
  assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
});

test('copy does not write through a link in the worktree', async (s) => {
  const r = await s.repo({ files: { '.gitignore': 'conf/.env\n' }, yaml: 'copy: [conf/.env]\n' });
  fs.mkdirSync(s.path('outside', 'x'), { recursive: true });
  s.write(join(r.dir, 'conf/.env'), 'A=1\n');
  // On another base `conf` is a link that leads out.
  const tree = r.worktree('trap', { path: s.path('trap') });
  fs.symlinkSync(s.path('outside'), join(tree, 'conf'));
  s.git(['add', '-A'], { cwd: tree });
  s.git(['commit', '-qm', 'trap'], { cwd: tree });
  await s.ok(['start', 'x', '--from', 'trap']);
  assert.equal(fs.existsSync(s.path('outside/.env')), false);
});

test('setup and copy are those of the commit that is set up', async (s) => {
  const r = await s.repo({ yaml: 'setup: ["echo trunk > which"]\n', files: { '.gitignore': 'which\n' } });
  r.commitOn('feature', { 'abide.yaml': 'setup: ["echo feature > which"]\n' }, 'feature');
  const a = await s.ok(['start', 'a']);
  assert.equal(fs.readFileSync(join(a.path, 'which'), 'utf8'), 'trunk\n');
  const b = await s.ok(['start', 'b', '--from', 'feature']);
  assert.equal(fs.readFileSync(join(b.path, 'which'), 'utf8'), 'feature\n');
});

test('setup sees the task and no git variables', async (s) => {
  const r = await s.repo({
    files: { '.gitignore': 'seen\n' },
    yaml: 'setup: ["pwd > seen; env | grep -E \'^(ABIDE_(ID|BRANCH|WORKTREE|PORT|TASK_TRUNK|TRUNK)|GIT_(DIR|INDEX_FILE|WORK_TREE))=\' | sort >> seen"]\n',
  });
  const d = await s.ok(['start', 'x'], { env: { GIT_DIR: join(r.gitDir), GIT_INDEX_FILE: '/nowhere' } });
  assert.equal(fs.readFileSync(join(d.path, 'seen'), 'utf8'), `${d.path}\nABIDE_BRANCH=${d.branch}\nABIDE_ID=${d.id}\n`
    + `ABIDE_PORT=${d.port}\nABIDE_TASK_TRUNK=main\nABIDE_WORKTREE=${d.path}\n`);
});

test('a failing setup leaves nothing, not even what it started', async (s) => {
  const r = await s.repo({ yaml: 'setup: ["touch made", "(setsid sleep 1000 &) ; sleep 1000 & exit 3"]\n' });
  const e = await s.refused(['start', 'x'], 'interrupted');
  assert.equal(e.data.exit, 3);
  assertNothing(r, 1);
});

test('every live task has a port of its own, and none that is in use', async (s) => {
  const r = await s.repo();
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const ports = [];
  for (let i = 0; i < 4; i++) ports.push((await s.ok(['start'])).port);
  assert.equal(new Set(ports).size, 4);
  server.close();
});

test('sparse patterns of the checkout it is called in are taken over', async (s) => {
  const r = await s.repo({ files: { 'near/a.txt': 'a\n', 'far/b.txt': 'b\n' } });
  const tree = r.worktree('feature', { path: s.path('sparse') });
  s.git(['sparse-checkout', 'set', '--cone', 'near'], { cwd: tree });
  const a = await s.ok(['start', 'a'], { cwd: tree });
  assert.deepEqual([fs.existsSync(join(a.path, 'near/a.txt')), fs.existsSync(join(a.path, 'far/b.txt'))], [true, false]);
  const b = await s.ok(['start', 'b'], { cwd: r.dir });
  assert.equal(fs.existsSync(join(b.path, 'far/b.txt')), true);
});

test('start works from a task, a subfolder, and with -C', async (s) => {
  const r = await s.repo({ files: { 'sub/x.txt': 'x\n' } });
  const a = await s.ok(['start', 'a']);
  const b = await s.ok(['start', 'b'], { cwd: join(a.path, 'sub') });
  assert.equal(dirname(b.path), home(r));
  const c = await s.ok(['-C', r.dir, 'start', 'c'], { cwd: s.dir });
  assert.equal(dirname(c.path), home(r));
});

test('a failing post-checkout hook is told and spoils nothing', async (s) => {
  const r = await s.repo();
  s.write(join(r.gitDir, 'hooks/post-checkout'), '#!/bin/sh\npwd >../seen; echo "$3 no luck" >&2; exit 1\n', { mode: 0o755 });
  const result = await s.abide(['start', 'x', '--json']);
  assert.equal(result.code, 0);
  assert.match(result.json.warnings.join(), /hook failed: 1 no luck/);
  assert.equal(fs.readFileSync(join(home(r), 'seen'), 'utf8').trim(), result.json.data.path);
});

test('a trunk behind what was fetched is told, and nothing is fetched', async (s) => {
  const origin = await s.repo({ name: 'origin' });
  const dir = s.path('clone');
  s.git(['clone', '-q', origin.dir, dir]);
  origin.commit({ 'a': '1' }, 'one');
  origin.commit({ 'a': '2' }, 'two');
  s.git(['fetch', '-q'], { cwd: dir });
  origin.commit({ 'a': '3' }, 'three');
  const result = await s.abide(['start', 'x', '--json'], { cwd: dir });
  assert.match(result.json.warnings.join(), /2 commits behind origin\/main/);
});

test('inside a submodule it has to be said which repository is meant', async (s) => {
  const r = await s.repo({ zoo: 'submodules' });
  const sub = join(r.dir, 'sub');
  const e = await s.refused(['start', 'x'], 'ambiguous_target', { cwd: sub });
  assert.ok(e.message.includes(r.dir));
  const d = await s.ok(['-C', sub, 'start', 'x'], { cwd: sub });
  assert.ok(fs.existsSync(join(d.path, 'inner.txt')));
  assert.equal(worktrees(r), 1);
  // A task of the repository around it has its submodule's folder, empty.
  const outer = await s.ok(['start', 'outer', '--exact']);
  await s.refused(['start', 'y'], 'no_repository', { cwd: join(outer.path, 'sub') });
});

test('worktrees outside the parent folder need trust', async (s) => {
  const r = await s.repo({ yaml: `worktrees: ${s.path('far', 'away')}\n` });
  s.git(['init', '-q', s.path('deep', 'repo')]);
  const inner = s.path('deep', 'repo');
  s.write(join(inner, 'abide.yaml'), `worktrees: ${s.path('far2')}\n`);
  s.git(['add', '-A'], { cwd: inner });
  s.git(['commit', '-qm', 'x'], { cwd: inner });
  await s.refused(['start', 'x'], 'untrusted', { cwd: inner });
  s.git(['config', 'abide.trusted', 'true'], { cwd: inner });
  const d = await s.ok(['start', 'x', '--exact'], { cwd: inner });
  assert.equal(d.path, join(s.path('far2'), 'x'));
});

// --- Killed and interrupted -------------------------------------------------------------------

const seams = ['start:recorded', 'start:branch', 'start:registered', 'start:filled', 'start:copied', 'start:setup', 'start:unlocked'];
for (const seam of seams) {
  for (const adopt of [false, true]) {
    if (adopt && seam === 'start:branch') continue;
    test(`kill -9 at ${seam}${adopt ? ' while adopting' : ''}: the next verb undoes it`, async (s) => {
      const r = await s.repo({ yaml: 'copy: [.env]\nsetup: ["true"]\n', files: { '.gitignore': '.env\n' } });
      s.write(join(r.dir, '.env'), 'x');
      if (adopt) r.commitOn('mine', { 'f': '1' }, 'mine');
      const refs = r.refs();
      const args = adopt ? ['start', '--branch', 'mine'] : ['start', 'x', '--exact'];
      const dead = await s.abide(args, { env: { ABIDE_TEST_KILL_AT: seam } });
      assert.equal(dead.signal, 'SIGKILL');
      await s.ok([...args, '--dry-run']).catch(() => {}); // changes nothing
      // Another start looks first.
      const d = await s.ok(args);
      assert.equal(worktrees(r), 2);
      assert.equal(fs.readdirSync(home(r)).length, 1, String(fs.readdirSync(home(r))));
      assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
      assert.doesNotMatch(r.git(['worktree', 'list', '--porcelain']), /^locked/m);
      if (adopt) assert.deepEqual(r.refs(), refs);
      else assert.equal(agentRefs(r), 'refs/heads/agent/x');
    });
  }
}

test('an undo that is killed is finished by the next', async (s) => {
  const r = await s.repo();
  await s.abide(['start', 'x', '--exact'], { env: { ABIDE_TEST_KILL_AT: 'start:filled' } });
  await s.abide(['start', 'y', '--exact'], { env: { ABIDE_TEST_KILL_AT: 'undo:unregistered' } });
  await s.ok(['start', 'x', '--exact']);
  assert.deepEqual(fs.readdirSync(home(r)), ['x']);
  assert.equal(worktrees(r), 2);
});

test('what somebody made in the meantime at the same names is not undone', async (s) => {
  const r = await s.repo();
  await s.abide(['start', 'x', '--exact'], { env: { ABIDE_TEST_KILL_AT: 'start:recorded' } });
  s.git(['worktree', 'add', '-q', '-b', 'agent/x', join(home(r), 'x')], { cwd: r.dir });
  fs.writeFileSync(join(home(r), 'x/mine'), 'mine');
  await s.ok(['start', 'y']);
  assert.equal(fs.readFileSync(join(home(r), 'x/mine'), 'utf8'), 'mine');
  assert.equal(r.tip('agent/x'), r.tip('main'));
});

test('a start that is at work is not undone by others', async (s) => {
  const f = s.fifo();
  const r = await s.repo({ yaml: `setup: ["${f.script.replaceAll('"', '\\"')}"]\n` });
  const one = s.spawnAbide(['start', 'x', '--exact', '--json']);
  await f.reached();
  await s.refused(['start', 'x', '--exact'], 'ambiguous_target');
  await f.release(0);
  const d = (await one.done()).json.data;
  assert.ok(fs.existsSync(join(d.path, 'README')));
  assert.equal(worktrees(r), 2);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  test(`${signal} during setup leaves nothing`, async (s) => {
    const f = s.fifo();
    const r = await s.repo({ yaml: `setup: ["${f.script.replaceAll('"', '\\"')}"]\n` });
    const p = s.spawnAbide(['start', 'x', '--json']);
    await f.reached();
    p.kill(signal);
    const result = await p.done();
    assert.equal(result.json.error, 'cancelled');
    assert.equal(result.code, signal === 'SIGINT' ? 130 : 143);
    assertNothing(r, 1);
  });
}

test('a failed checkout leaves nothing', async (s) => {
  const r = await s.repo({ files: { '.gitattributes': '*.big filter=big\n', 'x.big': 'x\n' } });
  s.git(['config', 'filter.big.smudge', 'false'], { cwd: r.dir });
  s.git(['config', 'filter.big.required', 'true'], { cwd: r.dir });
  await s.refused(['start', 'x'], 'git_failed');
  assertNothing(r, 1);
});

test('a store that cannot be written refuses, and nothing is made', async (s) => {
  const r = await s.repo();
  const e = await s.abide(['start', 'x', '--json'], { env: { ABIDE_TEST_FAIL_AT: 'store:begin' } });
  assert.equal(e.json.error, 'write_denied');
  assertNothing(r, 1);
});

// --- Many at once -------------------------------------------------------------------------------

test('many starts at once all succeed, beside removals, pack-refs and a foreign prune', { timeout: 240000 }, async (s) => {
  const r = await s.repo({ files: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}.txt`, `${i}\n`])) });
  s.git(['config', 'branch.autoSetupMerge', 'always'], { cwd: r.dir });
  for (let i = 0; i < 6; i++) await s.ok(['start', `old${i}`, '--exact']);
  let stop = false;
  const foreign = (async () => {
    while (!stop) {
      await s.run('git', ['worktree', 'prune'], { cwd: r.dir });
      await s.run('git', ['pack-refs', '--all'], { cwd: r.dir });
    }
  })();
  const made = await Promise.all([
    ...Array.from({ length: 16 }, (_, i) => s.ok(['start', `new${i}`], { timeout: 120000 })),
    ...Array.from({ length: 6 }, (_, i) => s.ok(['drop', `old${i}`], { timeout: 120000 })),
  ]);
  stop = true;
  await foreign;
  const started = made.slice(0, 16);
  assert.equal(new Set(started.map((d) => d.port)).size, 16);
  assert.equal(worktrees(r), 17);
  for (const d of started) assert.equal(s.git(['status', '--porcelain'], { cwd: d.path }), '');
  assert.deepEqual(fs.readdirSync(home(r)).sort(), started.map((d) => d.id).sort());
});
