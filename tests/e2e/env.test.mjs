// The environment: what is read stands in one table, and what leaks in from a caller does no harm.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, assert, root, abideBin } from './lib/index.mjs';

function sources() {
  const found = [];
  const walk = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (/\.[ch]$/.test(entry.name)) found.push([path.slice(root.length + 1), readFileSync(path, 'utf8')]);
    }
  };
  walk(join(root, 'src'));
  return found;
}

const header = readFileSync(join(root, 'src/base/env.h'), 'utf8');
const rows = [...header.matchAll(/X\((\w+),\s*"(\w+)"/g)].map((m) => ({ id: m[1], name: m[2] }));
const table = (name) => header.slice(header.indexOf(`#define ${name}(X)`)).split('\n\n')[0];

test('the environment is read in one place only', async () => {
  for (const [path, text] of sources()) {
    // Test seams exist in test builds only.
    if (path === 'src/base/env.c' || path === 'src/base/seam.c') continue;
    assert.doesNotMatch(text, /\b(secure_)?getenv\s*\(|\benviron\b/, `${path} reads the environment by itself`);
  }
  const seam = sources().find(([path]) => path === 'src/base/seam.c')[1];
  assert.match(seam, /^#if ABIDE_SEAMS$/m);
  for (const [, name] of seam.matchAll(/"(ABIDE_\w+)"/g)) assert.match(name, /^ABIDE_TEST_/);
});

test('every variable named in the source stands in the table', async () => {
  const known = new Set(rows.map((r) => r.name));
  for (const [, older] of header.matchAll(/"(DISCERN_\w+)"/g)) known.add(older);
  for (const [path, text] of sources()) {
    for (const [, name] of text.matchAll(/"((?:ABIDE|DISCERN|XDG|NO_COLOR)_?\w*)=?(?:%s)?"/g)) {
      if (/^ABIDE_TEST_/.test(name) || name === 'NO_COLOR') continue;
      // For git alone, which takes a setting from it.
      if (text.includes(`--config-env=`) && text.includes(`=${name}"`)) continue;
      assert.ok(known.has(name), `${path} names ${name}, which the table in src/base/env.h lacks`);
    }
  }
});

test('every row of the table is read by something', async () => {
  const all = sources().map(([, text]) => text).join('\n');
  for (const [, id, name] of table('ENV_TABLE').matchAll(/X\((\w+),\s*"(\w+)"/g)) {
    if (name === 'PATH') continue; // read where programs are started
    assert.match(all, new RegExp(`env_(get|text)\\(ENV_${id}\\)`), `nothing reads ${name}`);
  }
  for (const [, id] of table('ENV_EXPERIMENT_TABLE').matchAll(/X\((\w+),\s*"(\w+)"/g)) {
    assert.match(all, new RegExp(`env_experiment\\(ENV_EXP_${id}\\)`));
  }
});

test('the reference page names every variable', async (s) => {
  const dir = s.path('generated', '.');
  await s.ok(['__generate', dir]);
  const text = readFileSync(join(dir, 'reference/environment.md'), 'utf8') + readFileSync(join(dir, 'reference/experiments.md'), 'utf8');
  assert.ok(rows.length >= 8);
  for (const { name } of rows) assert.ok(text.includes(`\`${name}\``), name);
  assert.match(text, /`DISCERN_EXPERIMENTAL_AWAIT_CALL_SECONDS`/);
});

test('variables by which git is told another repository are not followed', async (s) => {
  const r = await s.repo();
  const other = await s.repo({ name: 'other' });
  other.commit({ x: 'x' }, 'elsewhere');
  const env = {
    GIT_DIR: other.gitDir, GIT_WORK_TREE: other.dir, GIT_INDEX_FILE: join(other.gitDir, 'index'), GIT_COMMON_DIR: other.gitDir,
    GIT_OBJECT_DIRECTORY: join(other.gitDir, 'objects'), GIT_NAMESPACE: 'ns', GIT_PREFIX: 'x/', GIT_CONFIG_PARAMETERS: "'abide.trunk=nowhere'",
  };
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], { code: 124, env, cwd: r.dir });
  assert.equal(d.observed.trunk_head, r.tip('main'));
  assert.equal(other.hasStore(), false);
});

test('configuration passed by GIT_CONFIG_COUNT counts', async (s) => {
  const r = await s.repo();
  r.branch('dev');
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'abide.trunk', GIT_CONFIG_VALUE_0: 'dev' };
  const d = await s.ok(['await', '--trunk-moved', '--timeout', '0'], { code: 124, env, cwd: r.dir });
  assert.equal(d.trunk, 'dev');
});

test('ABIDE_TRUNK rules over every other source', async (s) => {
  const r = await s.repo();
  r.branch('dev');
  r.branch('next');
  r.git(['config', 'abide.trunk', 'dev']);
  const trunk = async (env) => (await s.ok(['await', '--trunk-moved', '--timeout', '0', '--fresh'], { code: 124, env, cwd: r.dir })).trunk;
  assert.equal(await trunk({}), 'dev');
  assert.equal(await trunk({ ABIDE_TRUNK: '' }), 'dev');
  assert.equal(await trunk({ ABIDE_TRUNK: 'next' }), 'next');
});

test('colour only on a terminal, and not when NO_COLOR or a dumb terminal says no', async (s) => {
  const r = await s.repo();
  const run = (args, env = {}) => s.run('script', ['-qec', `'${abideBin}' ${args}`, '/dev/null'], { cwd: r.dir, env: { TERM: 'xterm', ...env } });
  const args = 'config';
  const coloured = (out) => /\u001b\[\d+m/.test(out.stdout);
  assert.ok(coloured(await run(args)), 'no colour on a terminal');
  assert.ok(!coloured(await run(args, { NO_COLOR: '1' })));
  assert.ok(coloured(await run(args, { NO_COLOR: '' })), 'NO_COLOR that is empty counts');
  assert.ok(!coloured(await run(args, { TERM: 'dumb' })));
  assert.ok(!coloured(await s.run(abideBin, ['config'], { cwd: r.dir })), 'colour in a pipe');
  assert.ok(coloured(await s.run(abideBin, ['config', '--color=always'], { cwd: r.dir, env: { NO_COLOR: '1' } })));
  assert.ok(!coloured(await run('config --color=never')));
});
