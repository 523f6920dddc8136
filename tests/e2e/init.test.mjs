import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { test, eachZoo, assert, fileTreeDigest } from './lib/index.mjs';

const jobs = (d) => d.jobs.map((j) => j.name).join(' ');
const runs = (d) => d.jobs.map((j) => j.run);
const at = (s) => s.path('repo/abide.yaml');

/** The proposal for a folder with these files. Each is read by abide's own reader before it is told. */
async function proposed(s, files) {
  for (const name of readdirSync(s.path('repo'))) if (name !== '.git') rmSync(s.path('repo', name), { recursive: true });
  for (const [name, text] of Object.entries(files)) s.write(`repo/${name}`, text);
  return s.ok(['init', '--dry-run']);
}

test('what is proposed is written, is right, and says the next step', async (s) => {
  await s.repo({ files: { Makefile: 'check:\n\ttrue\n' } });
  const x = await s.abide(['init']);
  assert.equal(x.code, 0);
  assert.match(x.stdout, /Makefile: `check`\nWrote .*repo\/abide\.yaml\n/);
  assert.match(x.stderr, /git add abide\.yaml && git commit/);
  assert.match(readFileSync(at(s), 'utf8'), /^trunk: main$/m);
  await s.ok(['config', '--check']);
});

test('--dry-run prints the file and writes nothing', async (s) => {
  const r = await s.repo({ files: { Makefile: 'check:\n\ttrue\n' } });
  const before = fileTreeDigest(s.path('repo'));
  const x = await s.abide(['init', '--dry-run']);
  assert.equal(x.code, 0);
  assert.equal(fileTreeDigest(s.path('repo')), before);
  assert.equal(r.hasStore(), false);
  await s.ok(['init']);
  assert.equal(readFileSync(at(s), 'utf8'), x.stdout);
});

test('a file that is there is never replaced', async (s) => {
  const r = await s.repo();
  s.write('repo/abide.yaml', '# mine\n');
  await s.refused(['init'], 'would_lose');
  await s.refused(['init', '--commit'], 'would_lose');
  await s.refused(['init', '--dry-run'], 'would_lose');
  assert.equal(readFileSync(at(s), 'utf8'), '# mine\n');
  await s.sh('rm abide.yaml; ln -s nowhere abide.yaml', { cwd: r.dir });
  await s.refused(['init'], 'would_lose');
  assert.equal(existsSync(s.path('repo/nowhere')), false);
});

test('a file that the trunk has, or that was deleted here, is not proposed anew', async (s) => {
  const r = await s.repo();
  const tree = r.worktree('task');
  r.commit({ 'abide.yaml': 'trunk: main\n' });
  await s.refused(['init'], 'would_lose', { cwd: tree });
  const other = r.worktree('other', { from: r.commitOn('other', { 'abide.yaml': '{}\n' }, 'x', { from: 'task' }) });
  r.git(['update-ref', 'refs/heads/main', r.tip('task')]);
  await s.sh('rm abide.yaml', { cwd: other });
  assert.match((await s.refused(['init', '--commit'], 'would_lose', { cwd: other })).hints[0], /git restore/);
});

test('--commit commits the file alone', async (s) => {
  const r = await s.repo({ files: { Makefile: 'test:\n\ttrue\n' } });
  const first = r.head();
  s.write('repo/README', 'changed\n');
  s.write('repo/untracked', 'x\n');
  const d = await s.ok(['init', '--commit']);
  assert.equal(d.commit, r.head());
  assert.equal(r.git(['diff', '--name-only', first, 'HEAD']), 'abide.yaml');
  assert.equal(r.git(['status', '--porcelain']), ' M README\n?? untracked');
  assert.equal((await s.ok(['config'])).config.gate[0].run, 'make test');
});

test('--commit refuses beside what is staged, and changes nothing', async (s) => {
  const r = await s.repo();
  s.write('repo/README', 'changed\n');
  r.git(['add', 'README']);
  const before = fileTreeDigest(r.dir);
  await s.refused(['init', '--commit'], 'dirty_worktree');
  assert.equal(fileTreeDigest(r.dir), before);
  assert.equal((await s.ok(['init'])).written, true);
  assert.equal(r.git(['status', '--porcelain']), 'M  README\n?? abide.yaml');
});

test('--commit refuses in the middle of a merge and on no branch', async (s) => {
  const r = await s.repo();
  r.commitOn('side', { README: 'side\n' });
  r.commit({ README: 'here\n' });
  r.git(['merge', 'side'], { ok: [1] });
  assert.match((await s.refused(['init', '--commit'], 'dirty_worktree')).message, /middle of a merge/);
  r.git(['merge', '--abort']);
  r.git(['checkout', '--quiet', '--detach']);
  await s.refused(['init', '--commit'], 'not_on_task');
  assert.equal(existsSync(at(s)), false);
});

test('--commit runs the hooks; one that refuses leaves everything as it was', async (s) => {
  const r = await s.repo();
  const hook = s.write('repo/.git/hooks/pre-commit', '#!/bin/sh\necho "no such luck" >&2\nexit 1\n', { mode: 0o755 });
  const head = r.head();
  const e = await s.refused(['init', '--commit'], 'git_failed');
  assert.match(e.message, /no such luck/);
  assert.equal(r.head(), head);
  assert.equal(existsSync(at(s)), false);
  assert.equal(r.git(['status', '--porcelain']), '');
  s.write('repo/.git/hooks/pre-commit', '#!/bin/sh\ntouch "$GIT_DIR/../ran" || touch ran\n', { mode: 0o755 });
  await s.ok(['init', '--commit']);
  assert.ok(existsSync(s.path('repo/ran')));
  void hook;
});

test('--commit tells a signature that failed', async (s) => {
  const r = await s.repo();
  s.write('nogpg', '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  r.git(['config', 'commit.gpgsign', 'true']);
  r.git(['config', 'gpg.program', s.path('nogpg')]);
  await s.refused(['init', '--commit'], 'signing_failed');
  assert.equal(r.git(['status', '--porcelain']), '');
});

test('--commit does not commit what git ignores', async (s) => {
  const r = await s.repo({ files: { '.gitignore': 'abide.yaml\n' } });
  await s.refused(['init', '--commit'], 'git_failed');
  assert.equal(existsSync(at(s)), false);
  assert.equal(r.git(['status', '--porcelain']), '');
});

test('--dry-run and --commit do not go together', async (s) => {
  await s.repo();
  await s.refused(['init', '--dry-run', '--commit'], 'invalid_arguments');
});

test('an unborn repository gets its first commit', async (s) => {
  const r = await s.repo({ zoo: 'unborn' });
  s.write('repo/other', 'x\n');
  const d = await s.ok(['init', '--commit']);
  assert.equal(d.trunk, 'main');
  assert.equal(r.git(['ls-tree', '--name-only', 'HEAD']), 'abide.yaml');
});

test('a bare place has nowhere to write', async (s) => {
  const r = await s.repo({ zoo: 'bare-worktrees' });
  await s.refused(['init'], 'worktree_missing', { cwd: r.bare });
});

test('in a linked worktree it is written there, and counts once landed', async (s) => {
  const r = await s.repo();
  const tree = r.worktree('task');
  const d = await s.abide(['init', '--commit', '--json'], { cwd: tree });
  assert.equal(d.json.data.path, `${tree}/abide.yaml`);
  assert.match(d.json.hints[0], /landed on `main`/);
  assert.equal(existsSync(at(s)), false);
});

eachZoo('init writes a right file', { except: ['unborn'] }, async (s, r) => {
  const d = await s.ok(['init']);
  assert.equal(d.written, true);
  await s.ok(['config', '--check']);
  assert.equal(r.git(['status', '--porcelain']).trim(), '?? abide.yaml');
});

// --- What is recognized -------------------------------------------------------------------------

test('nothing that is known: no gate, and that is said', async (s) => {
  await s.repo();
  const x = await s.abide(['init', '--json']);
  assert.deepEqual(x.json.data.jobs, []);
  assert.match(x.json.warnings.join(), /No command that tests/);
  assert.match(x.json.data.text, /^# gate:/m);
});

test('make: check before test, lint beside it; assignments and recipes are no targets', async (s) => {
  await s.repo();
  const make = 'test := x\n.PHONY: check\nall lint: x\n\tcheck: no\ncheck test: all\n\ttrue\n# build: no\n';
  const d = await proposed(s, { Makefile: make, 'package.json': '{"scripts":{"test":"x"}}' });
  assert.deepEqual(runs(d), ['make lint', 'make check']);
  assert.deepEqual(runs(await proposed(s, { Makefile: 'test := x\n\tcheck: y\ncheck ::= z\n' })), []);
  assert.deepEqual(runs(await proposed(s, { justfile: 'test *ARGS:\n  x\n' })), ['just test']);
});

test('package.json: scripts, and the installer by its lock file', async (s) => {
  await s.repo();
  const files = { 'package.json': JSON.stringify({ scripts: { test: 'x', lint: 'y', build: 'z', start: 'w' }, dependencies: { a: '1' } }) };
  for (const [lock, setup, tool] of [['package-lock.json', 'npm ci', 'npm'], ['pnpm-lock.yaml', 'pnpm install --frozen-lockfile', 'pnpm'],
    ['yarn.lock', 'yarn install --frozen-lockfile', 'yarn'], ['bun.lock', 'bun install --frozen-lockfile', 'bun'], ['x', 'npm install', 'npm']]) {
    const d = await proposed(s, { ...files, [lock]: '' });
    assert.equal(jobs(d), 'lint build test');
    assert.deepEqual(d.setup, [setup]);
    assert.equal(runs(d)[2], `${tool} run test`);
  }
  const none = await proposed(s, { 'package.json': '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' });
  assert.equal(jobs(none), '');
  assert.deepEqual(none.setup, []);
  for (const bad of ['[]', '{', '{"scripts":[]}', '{"scripts":{"test":1}}', '']) {
    assert.equal(jobs(await proposed(s, { 'package.json': bad })), '');
  }
});

test('other tools by their files', async (s) => {
  await s.repo();
  const d = await proposed(s, { 'go.mod': '', 'Cargo.toml': '', 'CMakeLists.txt': '', 'mix.exs': '', gradlew: '', mvnw: '', 'pom.xml': '' });
  assert.deepEqual(d.jobs.map((j) => j.name), ['build', 'test', 'test-cargo', 'vet', 'test-go', 'check', 'verify', 'test-mix']);
  assert.deepEqual(d.jobs[1].needs, 'build');
  assert.equal(d.jobs[0].run, 'cmake -S . -B build\ncmake --build build');
  assert.deepEqual(d.setup, ['mix deps.get']);
  assert.deepEqual(runs(await proposed(s, { 'meson.build': '' }))[1], 'meson test -C build --print-errorlogs');
  assert.deepEqual(runs(await proposed(s, { 'tox.ini': '' })), ['tox']);
  assert.deepEqual(runs(await proposed(s, { 'conftest.py': '' })), []);
  const python = await proposed(s, { 'pyproject.toml': '[tool.pytest.ini_options]\n', 'uv.lock': '' });
  assert.deepEqual([runs(python), python.setup], [['uv run pytest'], ['uv sync --frozen']]);
});

test('folders that the commands make and git does not ignore are told', async (s) => {
  await s.repo({ files: { 'Cargo.toml': '\n' } });
  assert.match((await s.abide(['init', '--dry-run'])).stderr, /target\/ .*not ignored/);
  s.write('repo/.gitignore', '/target\n');
  assert.doesNotMatch((await s.abide(['init', '--dry-run'])).stderr, /target/);
});

test('settings that git ignores are copied; what is tracked, a folder or elsewhere is not', async (s) => {
  await s.repo({ files: { '.gitignore': '.env*\n!.env.example\nsecret\n', '.env.example': 'x\n' } });
  for (const name of ['.env', '.env.local', ".env it's: #odd", '.env-dir/x', 'sub/.env', 'secret', '.envy']) s.write(`repo/${name}`, 'x\n');
  const d = await s.ok(['init']);
  assert.deepEqual(d.copy, ['.env', ".env it's: #odd", '.env.local', '.envy']);
  await s.ok(['config', '--check']);
  s.git(['add', '-A'], { cwd: s.path('repo') });
  s.git(['commit', '-qm', 'x'], { cwd: s.path('repo') });
  assert.deepEqual((await s.ok(['config'])).config.copy, d.copy);
});

test('killed before the commit, the file is there and nothing else', async (s) => {
  const r = await s.repo();
  const head = r.head();
  await s.abide(['init', '--commit'], { env: { ABIDE_TEST_KILL_AT: 'init:written' } });
  assert.equal(r.head(), head);
  assert.equal(r.git(['status', '--porcelain']), '?? abide.yaml');
});
