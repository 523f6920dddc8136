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

test('the demo shows the main job and leaves nothing behind', async (s) => {
  const r = await s.run(join(root, 'scripts/demo'), [], { env: { ABIDE_BIN: abideBin }, timeout: 110000 });
  assert.equal(r.code, 0, r.stdout + r.stderr);
  assert.match(r.stdout, /\[ui\] yes {2}landed agent\/api/);
  assert.match(r.stdout, /2 hold, 0 do not/);
  assert.match(r.stdout, /All of it held/);
});

test('the demo fails loudly, and leaves nothing behind, when something is wrong', async (s) => {
  const broken = s.program('broken', `case "$1" in accept) echo 'no landing today' >&2; exit 1;; *) exec '${abideBin}' "$@";; esac`);
  const r = await s.run(join(root, 'scripts/demo'), [], { env: { ABIDE_BIN: broken }, timeout: 110000 });
  assert.equal(r.code, 1);
  assert.match(r.stdout, /no landing today/);
  assert.match(r.stderr, /demo: FAILED/);
  assert.doesNotMatch(r.stdout, /All of it held/);
});

// --- Examples -----------------------------------------------------------------------

/** Blocks of a document whose info string is "sh run" or "console run", in order. */
function blocks(text) {
  return [...text.matchAll(/^```(sh|console) run\n([\s\S]*?)^```$/gm)].map((m) => ({ kind: m[1], text: m[2] }));
}

/** What differs from run to run: object ids, times, handles, ports, the sandbox's folder. */
function even(s, text) {
  return text.replaceAll(s.dir, '/home/you').replaceAll(/\u001b\[[0-9;]*m/g, '')
    .replaceAll(/\bw-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{2}\b/g, 'w-HANDLE')
    .replaceAll(/\b[0-9a-f]{40}\b/g, 'ID40').replaceAll(/\b[0-9a-f]{10}\b/g, 'ID10')
    .replaceAll(/\b\d+ (ms|s|m|h|d)\b( \d+ (s|m|h)\b)?/g, 'TIME').replaceAll(/\bport \d+/g, 'port N')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z?/g, 'WHEN').replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?/g, 'WHEN')
    .replaceAll(/\(by (ancestry|receipt)\)/g, '(by PROOF)').replaceAll(/ {2,}/g, '  ').replaceAll(/[ \t]+$/gm, '');
}

/** "$ command" lines (continued by "> " lines) with the output that follows each. */
function steps(text) {
  const found = [];
  for (const line of text.split('\n').slice(0, -1)) {
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), output: [] });
    else if (line.startsWith('> ')) found.at(-1).command += `\n${line.slice(2)}`;
    else found.at(-1).output.push(line);
  }
  return found;
}

/** Whether what came matches what the document shows; a line "…" stands for any lines. */
function matches(s, shown, came) {
  const pattern = even(s, shown.join('\n')).split('\n')
    .map((line) => (line === '…' ? '(?:.*\n)*?' : `${line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}\n`)).join('');
  return shown.length === 0 || new RegExp(`^${pattern}$`).test(even(s, came));
}

for (const path of markdown().filter((p) => blocks(read(p)).length > 0)) {
  test(`the examples of ${path} do what they show`, { timeout: 180000 }, async (s) => {
    const all = blocks(read(path));
    const script = ['set -u', 'exec 2>&1', `cd '${s.dir}'`];
    const expected = [];
    for (const block of all) {
      const list = block.kind === 'sh' ? [{ command: block.text, output: [] }] : steps(block.text);
      for (const step of list) {
        // The status stays as it was, for a command that shows it.
        script.push(step.command, `s=$?; printf '\\n@@ %s %s\\n' ${expected.length} $s; (exit $s)`);
        expected.push({ ...step, kind: block.kind });
      }
    }
    const r = await s.run('bash', ['--norc', '-c', script.join('\n')], { timeout: 170000 });
    const came = r.stdout.split(/\n@@ (\d+) (\d+)\n/);
    for (const [i, step] of expected.entries()) {
      const [output, status] = [came[3 * i], came[3 * i + 2]];
      assert.ok(output !== undefined, `${path}: the script ended before:\n${step.command}\n${r.stdout}`);
      if (step.kind === 'sh') assert.equal(status, '0', `${path}: failed:\n${step.command}\n${output}`);
      assert.ok(matches(s, step.output, output === '' ? '' : `${output.replace(/\n$/, '')}\n`),
        `${path}: ${step.command}\nshows:\n${even(s, step.output.join('\n'))}\ncame:\n${even(s, output)}`);
    }
  });
}

test('every example of the help is a call that abide takes', async (s) => {
  const dir = s.path('generated', '.');
  await s.ok(['__generate', dir]);
  const text = readFileSync(join(dir, 'reference/cli.md'), 'utf8');
  const examples = [...text.matchAll(/^```\n([\s\S]*?)^```$/gm)].flatMap((m) => m[1].split('\n'))
    .filter((line) => /^abide /.test(line) && !/[[(…]|\.\.\.|\b[A-Z]{3,}\b/.test(line)).map((line) => line.split('   # ')[0]);
  assert.ok(examples.length >= 10);
  for (const example of examples) {
    const [call] = example.split(/ [|<>]/);
    const r = await s.run('/bin/sh', ['-c', `${call.replace(/ -- | --$|$/, (m) => ` --json${m}`)}`], { cwd: s.dir });
    assert.doesNotMatch(r.stdout, /"error":"(invalid_arguments|internal)"/, example);
  }
});
