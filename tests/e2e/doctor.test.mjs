// doctor: what is wrong is named with its remedy, and looking changes nothing.
import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, eachZoo, assert, fileTreeDigest, lacksNamespaces, wraps } from './lib/index.mjs';

/** The rows of a check, as {state, says, fix}. */
const rows = (data, check) => data.checks.filter((c) => c.check === check);
const doctor = async (s, options = {}) => s.ok(['doctor'], options);
const old = (path) => utimesSync(path, new Date(Date.now() - 3600e3), new Date(Date.now() - 3600e3));

eachZoo('every kind of repository is told, and nothing is bad or changed', async (s, r, animal) => {
  const before = fileTreeDigest(r.gitDir);
  const d = await s.ok(['doctor']);
  assert.equal(d.bad, 0, JSON.stringify(d.checks));
  assert.equal(fileTreeDigest(r.gitDir), before, 'looking changed something');
  assert.match(d.git_version, /^2\./);
  assert.equal(d.object_format, animal.name === 'sha256' ? 'sha256' : 'sha1');
  assert.equal(d.partial, animal.name === 'partial-clone');
  assert.equal(d.sparse, animal.name === 'sparse');
  if (animal.name === 'submodules') assert.ok(d.submodules >= 1);
  if (animal.name === 'bare-worktrees') assert.equal(d.bare, true);
  if (animal.unborn) assert.match(rows(d, 'trunk')[0].says, /no commit/);
  else assert.equal(d.trunk, r.trunk);
});

test('rows are told to people, aligned, with the remedy below', async (s) => {
  await s.repo();
  const r = await s.abide(['doctor']);
  assert.equal(r.code, 0);
  assert.match(r.stdout, /^ok    git {11}git 2\./m);
  assert.match(r.stdout, /^warn  configuration The trunk has no abide\.yaml.*\n {20}→ Write one with `abide init`/m);
});

test('a gate on the trunk is counted, a file that is wrong is bad and exits with 1', async (s) => {
  const r = await s.repo({ gate: { build: 'true', test: 'true' } });
  assert.match(rows(await doctor(s), 'configuration')[0].says, /valid; its gate has 2 jobs/);
  r.commit({ 'abide.yaml': 'nonsense: 1\n' });
  const d = await doctor(s, { code: 1 });
  assert.equal(rows(d, 'configuration')[0].state, 'bad');
  assert.match(rows(d, 'configuration')[0].says, /nonsense/);
  assert.equal(d.bad, 1);
  r.commit({ 'abide.yaml': 'logbook: true\n' });
  assert.match(rows(await doctor(s), 'configuration')[0].says, /declares no gate/);
});

test('no trunk, and a trunk in the middle of a merge', async (s) => {
  const r = await s.repo({ files: { a: '1' } });
  let d = await doctor(s, { code: 1, env: { ABIDE_TRUNK: 'nowhere' } });
  assert.equal(rows(d, 'trunk')[0].state, 'bad');
  assert.match(rows(d, 'trunk')[0].fix, /abide\.trunk/);
  r.commitOn('other', { a: '2' });
  r.commit({ a: '3' });
  r.git(['merge', 'other'], { ok: [1] });
  d = await doctor(s);
  assert.match(rows(d, 'trunk')[1].says, /in the middle of a merge/);
  assert.equal(rows(d, 'trunk')[1].state, 'warn');
});

test('nobody to commit as is bad', async (s) => {
  await s.repo();
  writeFileSync(s.gitconfig, '[user]\n\tuseConfigOnly = true\n[init]\n\tdefaultBranch = main\n');
  const d = await doctor(s, { code: 1 });
  assert.equal(rows(d, 'identity')[0].state, 'bad');
  assert.match(rows(d, 'identity')[0].fix, /user\.email/);
});

test('the store: none yet, there, damaged, newer', async (s) => {
  const r = await s.repo();
  let d = await doctor(s);
  assert.equal(d.store.exists, false);
  assert.equal(r.hasStore(), false);
  await s.ok(['await', '--trunk-moved', '--timeout', '0'], { code: 124 });
  d = await doctor(s);
  assert.equal(d.store.exists, true);
  assert.ok(d.store.version >= 1 && d.store.bytes > 0);
  assert.equal(d.store.path, r.store);
  assert.equal(rows(d, 'store')[0].state, 'ok');

  const db = join(r.store, 'state.db');
  rmSync(`${db}-wal`);
  rmSync(`${db}-shm`);
  writeFileSync(db, 'not a database, whatever its name says. '.repeat(200));
  d = await doctor(s, { code: 1 });
  assert.equal(rows(d, 'store')[0].state, 'bad');
  assert.match(rows(d, 'store')[0].fix, /mv .*damaged/);
});

test('waits that must poll say why', { skip: lacksNamespaces() }, async (s) => {
  await s.repo();
  assert.equal((await doctor(s)).wake, 'events');
  const d = await doctor(s, { wrap: wraps.noInotifyInstances() });
  assert.equal(d.wake, 'polling');
  assert.equal(rows(d, 'watching')[0].state, 'warn');
  assert.match(rows(d, 'watching')[0].says, /every 250 ms/);
});

test('a git folder that cannot be written warns and names what still works', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const d = await doctor(s, { wrap: wraps.readOnly(r.gitDir) });
  const row = rows(d, 'store').find((x) => /cannot be written/.test(x.says));
  assert.equal(row.state, 'warn');
});

test('a worktree whose folder is gone is told, with the command that forgets it', async (s) => {
  const r = await s.repo();
  const tree = r.worktree('agent/gone');
  renameSync(tree, `${tree}-moved`);
  const d = await doctor(s);
  assert.match(rows(d, 'worktrees')[0].says, /agent\/gone.*not there/);
  assert.match(rows(d, 'worktrees')[0].fix, /git worktree prune/);
});

test('old lock files: without an owner bad, with one only told; young ones are normal', async (s) => {
  const r = await s.repo();
  const lock = join(r.gitDir, 'index.lock');
  s.allowLeftover(/index\.lock$/);
  writeFileSync(lock, '');
  assert.deepEqual((await doctor(s)).locks, []);
  old(lock);
  let d = await doctor(s, { code: 1 });
  assert.equal(rows(d, 'locks')[0].state, 'bad');
  assert.match(rows(d, 'locks')[0].says, /1 h old and no process/);
  assert.match(rows(d, 'locks')[0].fix, /`rm .*index\.lock`/);
  const holder = s.spawn('/bin/sh', ['-c', 'exec 3<"$0"; echo open; read x', lock]);
  await holder.line('open');
  d = await doctor(s);
  assert.equal(rows(d, 'locks')[0].state, 'warn');
  assert.match(d.locks[0].holders[0], new RegExp(`^${holder.pid} `));
  holder.end('\n');
  await holder.done();
  rmSync(lock);
});

test('a lock file in a linked worktree is found, too', async (s) => {
  const r = await s.repo();
  r.worktree('agent/one');
  const [folder] = r.git(['rev-parse', '--git-dir'], { cwd: r.worktree('agent/two') }).split('\n');
  const lock = join(folder, 'index.lock');
  s.allowLeftover(/index\.lock$/);
  writeFileSync(lock, '');
  old(lock);
  assert.equal((await doctor(s, { code: 1 })).locks[0].path, lock);
});

test('remotes: what would fetch and push receipts is printed, and works when it is done', async (s) => {
  const r = await s.repo({ files: { a: '1' } });
  s.git(['init', '-q', '--bare', s.path('up.git')]);
  r.git(['remote', 'add', 'origin', s.path('up.git')]);
  r.git(['push', '-q', 'origin', 'main']);
  let d = await doctor(s);
  assert.equal(rows(d, 'remote')[0].state, 'warn');
  const [remote] = d.remotes;
  assert.deepEqual(remote, { remote: 'origin', fetches: false, pushes: false, fetch_refspec: '+refs/notes/abide:refs/notes/remotes/origin/abide', push_refspec: 'refs/notes/abide:refs/notes/abide' });
  const commands = [...rows(d, 'remote')[0].fix.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
  assert.equal(commands.length, 2);
  r.git(['notes', '--ref=abide', 'add', '-m', '{}', 'HEAD']);
  for (const command of commands) await s.sh(command, { cwd: r.dir });
  r.git(['fetch', '-q', 'origin']);
  assert.equal(r.refs()['refs/notes/remotes/origin/abide'], r.refs()['refs/notes/abide']);
  d = await doctor(s);
  assert.equal(d.remotes[0].fetches, true);
  assert.equal(rows(d, 'remote')[0].state, 'ok');
});

test('a refspec that would erase local receipts is bad, and the remedy takes it out', async (s) => {
  const r = await s.repo();
  s.git(['init', '-q', '--bare', s.path('up.git')]);
  r.git(['remote', 'add', 'my.host', s.path('up.git')]);
  r.git(['config', '--add', 'remote.my.host.fetch', '+refs/notes/*:refs/notes/*']);
  const d = await doctor(s, { code: 1 });
  assert.match(rows(d, 'remote')[0].says, /erases/);
  const [unset] = [...rows(d, 'remote')[0].fix.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
  await s.sh(unset, { cwd: r.dir });
  assert.equal((await doctor(s)).remotes[0].fetches, false);
});

test('many commits without a commit-graph are told once there are enough', { timeout: 240000 }, async (s) => {
  const r = await s.repo();
  const stream = ['reset refs/heads/main', ''];
  for (let i = 1; i <= 20001; i++) {
    stream.push('commit refs/heads/main', `committer T <t@t> ${1700000000 + i} +0000`, 'data 1', 'x', '');
  }
  // Without it, git returns its memory to the system after every commit and takes seconds.
  const env = { MALLOC_TOP_PAD_: '67108864', MALLOC_TRIM_THRESHOLD_: '268435456' };
  r.git(['fast-import', '--quiet', '--force'], { env, input: `${stream.join('\n')}\n` });
  let d = await doctor(s);
  assert.equal(rows(d, 'history')[0].state, 'warn');
  assert.match(rows(d, 'history')[0].fix, /git commit-graph write --reachable/);
  r.git(['commit-graph', 'write', '--reachable']);
  d = await doctor(s);
  assert.equal(rows(d, 'history').length, 0);
});

test('a shallow clone is told', async (s) => {
  const r = await s.repo({ files: { a: '1' } });
  r.commit({ a: '2' });
  s.git(['clone', '-q', '--depth=1', `file://${r.dir}`, s.path('cut')]);
  const d = await doctor(s, { cwd: s.path('cut') });
  assert.equal(d.shallow, true);
  assert.match(rows(d, 'repository')[1].fix, /--unshallow/);
});

test('a git that is too old is bad; none at all is a refusal', async (s) => {
  await s.repo();
  const git = (await s.sh('command -v git')).trim();
  s.program('git', `case "$*" in *--version) echo 'git version 2.30.2';; *) exec '${git}' "$@";; esac`);
  const d = await doctor(s, { code: 1 });
  assert.match(rows(d, 'git')[0].says, /2\.30\.2 is older than 2\.39/);
  await s.refused(['doctor'], 'git_unsupported', { env: { PATH: s.path('empty', '.') } });
});
