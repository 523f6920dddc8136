// Documents: generated ones are up to date and well formed, examples do what they say.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { test, assert, root, abideBin } from './lib/index.mjs';

const read = (path) => readFileSync(join(root, path), 'utf8');

function markdown(dir = '.') {
  const found = [];
  for (const entry of readdirSync(join(root, dir), { withFileTypes: true })) {
    const path = dir === '.' ? entry.name : join(dir, entry.name);
    if (entry.isDirectory() && (dir !== '.' || entry.name === 'docs')) found.push(...markdown(path));
    else if (entry.name.endsWith('.md')) found.push(path);
  }
  return found;
}

const generated = async (s) => {
  const dir = s.path('generated', '.');
  const { files } = await s.ok(['__generate', dir]);
  return { dir, files, in: (folder) => files.filter((f) => f.startsWith(`${folder}/`)).map((f) => f.slice(folder.length + 1)) };
};

test('what is generated and committed is up to date', async (s) => {
  const fresh = await generated(s);
  for (const [folder, committed] of [['schema', 'schema'], ['reference', 'docs/reference']]) {
    const names = fresh.in(folder);
    assert.deepEqual(readdirSync(join(root, committed)).sort(), names.sort(), `${committed} is out of date: run \`make generate\``);
    for (const name of names) {
      assert.equal(read(join(committed, name)), readFileSync(join(fresh.dir, folder, name), 'utf8'), `${committed}/${name} is out of date: run \`make generate\``);
    }
  }
});

test('every verb has a man page that a linter accepts', { skip: spawnSync('mandoc', ['-V']).error ? 'no mandoc on this machine' : false }, async (s) => {
  const verbs = (await s.ok(['help'])).verbs.map((v) => v.name);
  const fresh = await generated(s);
  assert.deepEqual(fresh.in('man'), ['abide.1', ...verbs.map((v) => `abide-${v}.1`)]);
  const lint = await s.run('mandoc', ['-Tlint', ...fresh.in('man').map((page) => join(fresh.dir, 'man', page))]);
  const says = lint.stdout.split('\n').filter((line) => line && !/referenced manual not found/.test(line));
  assert.deepEqual(says, []);
});

test('installing puts program, man pages and completions in their places', async (s) => {
  const prefix = s.path('prefix', '.');
  const r = await s.run(join(root, 'scripts/install-pages'), [abideBin, 'share', 'share/man'], { env: { MESON_INSTALL_DESTDIR_PREFIX: prefix } });
  assert.equal(r.code, 0, r.stderr);
  for (const file of ['man/man1/abide.1', 'man/man1/abide-await.1', 'bash-completion/completions/abide', 'zsh/site-functions/_abide', 'fish/vendor_completions.d/abide.fish']) {
    assert.ok(readFileSync(join(prefix, 'share', file), 'utf8').length > 200, file);
  }
});

test('links between documents lead somewhere', async () => {
  for (const path of markdown()) {
    for (const [, link] of read(path).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:|#)/.test(link)) continue;
      const target = resolve(root, dirname(path), link.split('#')[0]);
      assert.ok(existsSync(target), `${path} links to ${link}, which is not there`);
    }
  }
});
