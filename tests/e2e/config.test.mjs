import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import { test, eachZoo, assert, fileTreeDigest } from './lib/index.mjs';

const key = (d, name) => d.keys.find((k) => k.key === name);
const yaml = 'trunk: main\nsetup: [npm ci]\ngate:\n  - name: test\n    run: make check\n';

test('without a file every value is a default', async (s) => {
  const r = await s.repo();
  const d = await s.ok(['config']);
  assert.deepEqual(d.config, {
    trunk: 'main', branch_prefix: 'agent/', worktrees: '../{repo}.worktrees', copy: [], setup: [], gate: [],
    accept: { require: 'none', gate_changes: 'ask', integrate: 'refuse', keep: false }, logbook: true,
  });
  assert.equal(key(d, 'trunk').from, 'git config init.defaultBranch');
  assert.ok(d.keys.filter((k) => k.key !== 'trunk').every((k) => k.source === 'default' && !k.commit));
  assert.equal(d.worktrees_dir, s.path('repo.worktrees'));
  assert.equal(d.gate_changed, false);
  assert.deepEqual(d.pending, []);
  assert.equal(r.hasStore(), false);
});

test('each value says its scope and the commit whose file holds it', async (s) => {
  const r = await s.repo({ yaml });
  const trunk = r.head();
  const tree = r.worktree('task');
  const task = r.commit({ 'abide.yaml': yaml.replace('npm ci', 'yarn') }, 'x', { cwd: tree });
  const d = await s.ok(['config'], { cwd: tree });
  assert.equal(d.trunk_commit, trunk);
  assert.equal(d.commit, task);
  assert.deepEqual(d.config.setup, ['yarn']);
  assert.deepEqual(key(d, 'setup'), { key: 'setup', value: 'yarn', scope: 'work', source: 'abide.yaml', commit: task });
  assert.equal(key(d, 'trunk').commit, trunk);
  assert.equal(key(d, 'trunk').scope, 'policy');
  assert.equal(key(d, 'logbook').source, 'default');
  assert.deepEqual((await s.ok(['config'])).config.setup, ['npm ci']);
});

test('policy of a task counts only once it has landed, and that is said', async (s) => {
  const r = await s.repo({ yaml });
  const tree = r.worktree('task');
  r.commit({ 'abide.yaml': `${yaml}accept:\n  require: human\n  keep: true\nworktrees: /elsewhere\n` }, 'x', { cwd: tree });
  const x = await s.abide(['config', '--json'], { cwd: tree });
  const d = x.json.data;
  assert.equal(d.config.accept.require, 'none');
  assert.equal(d.config.accept.keep, false);
  assert.equal(d.worktrees_dir, s.path('repo.worktrees'));
  assert.deepEqual(d.pending.map((p) => [p.key, p.value, p.until]), [
    ['worktrees', '/elsewhere', 'landed'], ['accept.require', 'human', 'landed'], ['accept.keep', 'true', 'landed']]);
  assert.match(x.json.warnings.join(), /`accept.keep`.*only once it has landed/);
});

test('what is not committed does not count, and that is said', async (s) => {
  await s.repo({ yaml });
  s.write('repo/abide.yaml', `${yaml}logbook: false\n`.replace('npm ci', 'yarn'));
  const x = await s.abide(['config', '--json']);
  assert.deepEqual(x.json.data.config.setup, ['npm ci']);
  assert.equal(x.json.data.config.logbook, true);
  assert.deepEqual(x.json.data.pending.map((p) => [p.key, p.until]), [['logbook', 'committed'], ['setup', 'committed']]);
  assert.match(x.json.warnings.join(), /only once it is committed/);
  // Comments alone change no value.
  s.write('repo/abide.yaml', `# hello\n${yaml}`);
  assert.deepEqual((await s.ok(['config'])).pending, []);
});

test('a gate that differs from the trunk\'s is told', async (s) => {
  const r = await s.repo({ yaml });
  const tree = r.worktree('task');
  const same = await s.ok(['config'], { cwd: tree });
  r.commit({ 'abide.yaml': yaml.replace('make check', 'true') }, 'x', { cwd: tree });
  const d = await s.ok(['config'], { cwd: tree });
  assert.equal(same.gate_changed, false);
  assert.equal(d.gate_changed, true);
  assert.match(d.gate_digest, /^[0-9a-f]{64}$/);
  assert.notEqual(d.gate_digest, same.gate_digest);
});

test('a wrong file is refused by line and key wherever it counts', async (s) => {
  const r = await s.repo({ yaml });
  const tree = r.worktree('task');
  const bad = r.commit({ 'abide.yaml': `${yaml}lanes: {}\n` }, 'x', { cwd: tree });
  const e = await s.refused(['config'], 'config_invalid', { cwd: tree });
  assert.deepEqual([e.data.file, e.data.line, e.data.key, e.data.commit], ['abide.yaml', 6, 'lanes', bad]);
  assert.match(e.message, /^abide\.yaml at [0-9a-f]{10} line 6: /);
  await s.ok(['config']);
});

test('--check reads the trunk\'s file, the commit\'s and the one on disk', async (s) => {
  const r = await s.repo({ yaml });
  const tree = r.worktree('task');
  r.commit({ 'abide.yaml': yaml.replace('npm ci', 'yarn') }, 'x', { cwd: tree });
  const d = await s.ok(['config', '--check'], { cwd: tree });
  assert.deepEqual(d.checks.map((c) => [c.what, c.ok, c.present, c.jobs]),
    [['trunk', true, true, 1], ['commit', true, true, 1], ['file', true, true, 1]]);
  s.write('trees/task/abide.yaml', `${yaml}gate_parallel: many\n`);
  const e = await s.refused(['config', '--check'], 'config_invalid', { cwd: tree });
  assert.deepEqual(e.data.checks.map((c) => c.ok), [true, true, false]);
  assert.equal(e.data.line, 6);
  assert.equal(e.data.key, 'gate_parallel');
  const text = await s.abide(['config', '--check']);
  assert.match(text.stdout, /^ok .*trunk.*1 job\nok .*abide\.yaml: 1 job\n$/);
});

test('--check tells every file that is wrong, and no file is right', async (s) => {
  const r = await s.repo();
  assert.deepEqual((await s.ok(['config', '--check'])).checks.map((c) => [c.ok, c.present]), [[true, false], [true, false]]);
  r.commit({ 'abide.yaml': 'trunk: []\n' });
  s.write('repo/abide.yaml', 'logbook: maybe\n');
  const e = await s.refused(['config', '--check'], 'config_invalid');
  assert.equal(e.data.key, 'trunk');
  assert.match(e.warnings.join(), /logbook/);
});

test('--check FILE reads that file alone', async (s) => {
  const r = await s.repo();
  r.commit({ 'abide.yaml': 'trunk: []\n' });
  s.write('repo/sub/draft.yaml', yaml);
  s.write('repo/-x.yaml', 'nonsense: 1\n');
  assert.equal((await s.ok(['config', '--check', 'sub/draft.yaml'])).checks.length, 1);
  assert.equal((await s.ok(['config', '--check', 'draft.yaml'], { cwd: s.path('repo/sub') })).checks[0].ok, true);
  await s.ok(['-C', 'repo/sub', 'config', '--check', 'draft.yaml'], { cwd: s.dir });
  assert.match((await s.abide(['config', '--check', '--', '-x.yaml'])).stderr, /-x\.yaml line 1: .*`nonsense`/);
  await s.refused(['config', '--check', 'nowhere.yaml'], 'read_failed');
  await s.refused(['config', '--check', 'sub'], 'read_failed');
  await s.refused(['config', 'sub/draft.yaml'], 'invalid_arguments');
});

test('what text shows cannot move the cursor', async (s) => {
  const r = await s.repo();
  r.commit({ 'abide.yaml': 'gate:\n  - name: a\n    run: "echo \\e[2J\\rgone"\n' });
  const x = await s.abide(['config']);
  assert.equal(x.code, 0);
  assert.ok(!/[\x1b\r]/.test(x.stdout), JSON.stringify(x.stdout));
  assert.match(x.stdout, /echo \\x1B\[2J/);
});

test('worktrees outside the repository\'s folder need trust that no clone carries', async (s) => {
  const r = await s.repo();
  r.commit({ 'abide.yaml': 'worktrees: /tmp/elsewhere/{repo}\n' });
  const x = await s.abide(['config', '--json']);
  assert.match(x.json.warnings.join(), /outside/);
  assert.match(x.json.hints.join(), /git config abide\.trusted true/);
  s.git(['config', '--global', 'abide.trusted', 'true']);
  assert.match((await s.abide(['config', '--json'])).json.warnings.join(), /outside/);
  r.git(['config', 'abide.trusted', 'true']);
  assert.deepEqual((await s.abide(['config', '--json'])).json.warnings, []);
});

test('an experiment that is on is shown', async (s) => {
  await s.repo();
  const env = { ABIDE_EXPERIMENTAL_AWAIT_CALL_SECONDS: '30' };
  assert.equal((await s.ok(['config'], { env })).experiments[0].value, 30);
  assert.deepEqual((await s.ok(['config'])).experiments, []);
});

eachZoo('every value is told, nothing is changed', async (s, r, animal) => {
  if (!animal.unborn && !animal.detached) r.commit({ 'abide.yaml': 'branch_prefix: zoo/\n' });
  const before = fileTreeDigest(r.dir);
  const d = await s.ok(['config']);
  assert.equal(d.config.trunk, animal.unborn ? undefined : 'main');
  await s.ok(['config', '--check']);
  assert.equal(fileTreeDigest(r.dir), before);
  assert.equal(r.hasStore(), false);
});

test('rules do not fall away where a partial clone has not fetched them', async (s) => {
  const r = await s.repo({ zoo: 'partial-clone' });
  s.git(['commit', '--quiet', '--allow-empty', '-m', 'x'], { cwd: r.origin });
  s.write('origin/abide.yaml', 'accept:\n  require: human\n');
  s.git(['add', '-A'], { cwd: r.origin });
  s.git(['commit', '--quiet', '-m', 'rules'], { cwd: r.origin });
  r.git(['fetch', '--quiet', 'origin']);
  r.moveTo('main', r.head('origin/main'));
  const e = await s.refused(['config'], 'read_failed');
  assert.match(e.message, /partial clone/);
  await s.sh(e.hints[0].match(/`(git show [^`]*)`/)[1], { cwd: r.dir });
  assert.equal((await s.ok(['config'])).config.accept.require, 'human');
});

test('the published schema and the reader agree', async (s) => {
  await s.repo();
  const { schema } = await s.ok(['schema', 'abide.yaml']);
  const valid = new Ajv2020.default({ strict: false }).compile(schema);
  const job = { name: 'a', run: 'b' };
  // JSON is YAML, so that each is a file as well.
  const files = [
    {}, { trunk: 'main', copy: ['.env'], setup: ['x', true], gate: [job], gate_parallel: 3, logbook: false },
    { accept: { require: 'human', gate_changes: 'allow', integrate: 'refuse', keep: true } }, { gate: [] },
    { gate: [{ ...job, timeout: '90s', needs: [] }] }, { gate: [{ ...job, timeout: 'none' }] },
    { lanes: {} }, { notify: 'x' }, { trunk: ['main'] }, { trunk: '' }, { copy: '.env' }, { copy: ['/etc'] }, { copy: [''] },
    { setup: 'x' }, { setup: [''] }, { gate: { a: 'b' } }, { gate: ['a'] }, { gate: [{ name: 'a' }] }, { gate: [{ run: 'a' }] },
    { gate: [{ ...job, name: '..' }] }, { gate: [{ ...job, name: 'a b' }] }, { gate: [{ ...job, cmd: 'x' }] },
    { gate: [{ ...job, timeout: '10' }] }, { gate: [{ ...job, timeout: '0s' }] }, { gate: [{ ...job, timeout: '1.5h' }] },
    { gate: [{ ...job, needs: 'b' }] }, { gate_parallel: 0 }, { gate_parallel: 257 }, { gate_parallel: 'x' },
    { accept: 'human' }, { accept: { require: 'me' } }, { accept: { keep: 'yes' } }, { accept: { integrate: 'queue' } },
    { accept: { strategy: 'merge' } }, { worktrees: '~/x' }, { logbook: 'no' }, [], 'main',
  ];
  files.forEach((file, i) => s.write(`repo/${i}.yaml`, JSON.stringify(file)));
  const e = await s.refused(['config', '--check', ...files.map((_, i) => `${i}.yaml`)], 'config_invalid');
  files.forEach((file, i) => assert.equal(e.data.checks[i].ok, valid(file), `${JSON.stringify(file)}: ${e.data.checks[i].message}`));
});

// --- Which branch is the trunk ------------------------------------------------------------------

async function trunk(s, options = {}) {
  const d = await s.ok(['config'], options);
  const k = key(d, 'trunk');
  return [d.config.trunk, k.source, k.from];
}

test('the trunk comes from the first source that names one', async (s) => {
  const r = await s.repo();
  for (const name of ['a', 'b', 'c', 'd', 'master']) r.branch(name);
  s.git(['config', '--global', '--unset', 'init.defaultBranch']);
  assert.deepEqual(await trunk(s), ['main', 'repository', 'its usual name']);
  r.git(['config', 'init.defaultBranch', 'a']);
  assert.deepEqual(await trunk(s), ['a', 'git config', 'git config init.defaultBranch']);
  r.git(['update-ref', 'refs/remotes/origin/b', r.head()]);
  r.git(['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/b']);
  assert.deepEqual(await trunk(s), ['b', 'repository', 'origin/HEAD']);
  r.commitOn('b', { 'abide.yaml': 'trunk: c\n' });
  assert.deepEqual(await trunk(s), ['c', 'abide.yaml', 'abide.yaml']);
  r.git(['config', 'abide.trunk', 'd']);
  assert.deepEqual(await trunk(s), ['d', 'git config', 'git config abide.trunk']);
  const env = { ABIDE_TRUNK: 'main' };
  assert.deepEqual(await trunk(s, { env }), ['main', 'environment', 'ABIDE_TRUNK']);
  env.ABIDE_TRUNK = 'refs/heads/main';
  assert.deepEqual(await trunk(s, { env }), ['main', 'environment', 'ABIDE_TRUNK']);
  env.ABIDE_TRUNK = '';
  assert.equal((await trunk(s, { env }))[0], 'd');
});

test('a source that names a branch which is not there is passed over', async (s) => {
  const r = await s.repo();
  r.git(['config', 'init.defaultBranch', 'gone']);
  r.git(['update-ref', 'refs/remotes/origin/gone', r.head()]);
  r.git(['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/gone']);
  assert.deepEqual(await trunk(s), ['main', 'repository', 'its usual name']);
  r.git(['update-ref', '-d', 'refs/remotes/origin/gone']);
  assert.deepEqual(await trunk(s), ['main', 'repository', 'its usual name']);
  r.git(['branch', '-m', 'main', 'master']);
  assert.deepEqual(await trunk(s), ['master', 'repository', 'its usual name']);
  r.git(['branch', '-m', 'master', 'main/deeper']);
  assert.equal((await trunk(s))[0], undefined);
});

test('a name that no branch can have is refused as the trunk', async (s) => {
  const r = await s.repo();
  for (const name of ['-f', 'a..b', 'a b', 'HEAD', 'x.lock']) {
    await s.refused(['config'], 'no_trunk', { env: { ABIDE_TRUNK: name } });
  }
  r.git(['config', 'abide.trunk', '--upload-pack=x']);
  await s.refused(['config'], 'no_trunk');
});

test('a wrong file still says which branch is the trunk', async (s) => {
  const r = await s.repo({ yaml: 'trunk: develop\nfuture_key: {trunk: no}\n' });
  r.commitOn('develop', { 'abide.yaml': 'trunk: develop\n' });
  assert.deepEqual(await trunk(s, { cwd: r.worktree('develop') }), ['develop', 'abide.yaml', 'abide.yaml']);
});

test('finding the trunk takes two git processes, and one more where origin names another branch', async (s) => {
  const r = await s.repo({ yaml });
  const count = async (args) => {
    const log = s.path(`trace-${Math.random()}`);
    await s.ok(args, { env: { GIT_TRACE: log } });
    return readFileSync(log, 'utf8').split('\n').filter((line) => /trace: built-in: git /.test(line)).map((l) => l.match(/built-in: git (\S+)/)[1]);
  };
  const words = () => count(['config', '--check', 'abide.yaml']).then((list) => list.sort().join(' '));
  assert.equal(await words(), 'cat-file config for-each-ref rev-parse');
  r.git(['update-ref', 'refs/remotes/origin/main', r.head()]);
  r.git(['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main']);
  assert.equal(await words(), 'cat-file config for-each-ref rev-parse');
  r.branch('other');
  r.git(['update-ref', 'refs/remotes/origin/other', r.head()]);
  r.git(['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/other']);
  r.commitOn('other', { 'abide.yaml': 'logbook: true\n' });
  assert.equal(await words(), 'cat-file config for-each-ref for-each-ref rev-parse');
  r.git(['config', 'abide.trunk', 'main']);
  assert.equal(await words(), 'config for-each-ref rev-parse');
});
