// The frame that every verb stands in: words, envelopes, exit statuses, streams.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { test, assert, abideBin } from './lib/index.mjs';

const verbs = JSON.parse(spawnSync(abideBin, ['help', '--json'], { encoding: 'utf8' }).stdout).data.verbs.map((v) => v.name);
// Verbs that need a repository and no words.
const looking = verbs.filter((verb) => ['doctor', 'log', 'receipts', 'status'].includes(verb));

test('help and -h say the same at every level', async (s) => {
  const all = (await s.abide(['help'])).stdout;
  for (const words of [['-h'], ['--help'], ['help', '-h']]) {
    const r = await s.abide(words);
    assert.equal(r.code, 0);
    assert.equal(r.stdout, all);
    assert.equal(r.stderr, '');
  }
  const own = (await s.abide(['help', 'await'])).stdout;
  for (const words of [['await', '-h'], ['-h', 'await'], ['await', '--help', '--landed'], ['-C', '/', 'await', '--help']]) {
    const r = await s.abide(words);
    assert.equal(r.code, 0, words.join(' '));
    assert.equal(r.stdout, own, words.join(' '));
  }
  for (const verb of verbs) assert.match(all, new RegExp(`^  ${verb} `, 'm'));
});

test('verbs stand in order of name and each explains itself', async (s) => {
  assert.deepEqual(verbs, [...verbs].sort());
  for (const verb of verbs) {
    const r = await s.abide(['help', verb]);
    assert.equal(r.code, 0);
    assert.match(r.stdout, new RegExp(`^abide ${verb}: \\w`));
    assert.match(r.stdout, new RegExp(`^usage: abide ${verb}`, 'm'), `${verb} has no usage`);
    for (const line of r.stdout.split('\n')) {
      const limit = /^(abide|usage:|       abide|  abide) /.test(line) ? 110 : 80;
      assert.ok([...line].length <= limit, `${verb}: a line of its help is too long: ${line}`);
    }
  }
});

test('help wins over what is wrong behind it', async (s) => {
  const r = await s.abide(['help', '--bogus', '--help']);
  assert.equal(r.code, 2); // the error came first
  assert.equal((await s.abide(['help', '--help', '--bogus'])).code, 0);
  const d = await s.ok(['help', '--help']);
  assert.match(d.text, /usage:/);
});

test('--version tells the version, in JSON too', async (s) => {
  const r = await s.abide(['--version']);
  assert.match(r.stdout, /^abide \d+\.\d+\.\d+\n$/);
  assert.equal(`abide ${(await s.ok(['--version'])).version}\n`, r.stdout);
});

test('no word at all is a usage error that shows the help on stderr', async (s) => {
  const r = await s.abide([]);
  assert.equal(r.code, 2);
  assert.equal(r.stdout, '');
  assert.match(r.stderr, /usage: abide/);
});

test('usage errors name the word, exit with 2, and are envelopes with --json', async (s) => {
  const rows = [
    [['--json'], /verb is missing/],
    [['--json', 'frobnicate'], /no verb `frobnicate`/],
    [['frobnicate', '--json'], /no verb `frobnicate`/],
    [['help', '--frobnicate', '--json'], /no option `--frobnicate`/],
    [['--frobnicate', 'help', '--json'], /no option `--frobnicate`/],
    [['help', '-x', '--json'], /no option `-x`/],
    [['help', 'a', 'b', '--json'], /one word too many/],
    [['help', '--color', '--json'], /--color needs a value/],
    [['help', '--json', '--color'], /--color needs a value/],
    [['help', '--json', '--color=blue'], /auto, always or never/],
    [['help', '--json', '--color=never', '--color=never'], /given twice/],
    [['help', '--json=yes'], /takes no value/, false],
    [['help', '--json', '--watch-stdin=1'], /takes no value/],
    [['help', '--json', '-C'], /-C needs a folder/],
    [['-C', '/', '-C', '/', 'help', '--json'], /-C is given twice/],
    [['help', '--json', '--surface=web'], /cli or mcp/],
    [['help', '--json', '--tool-timeout=0'], /positive number/],
    [['help', '--json', 'nope'], /no verb `nope`/],
    [['help', '--json', '--', '--json'], /no verb `--json`/],
    [['', '--json'], /no verb ``/],
    [['\u001b[31mred', '--json'], /no verb/],
  ];
  for (const [words, message, json = true] of rows) {
    const r = json ? await s.abide(words) : await s.run(abideBin, words);
    assert.equal(r.code, 2, words.join(' '));
    if (!json) {
      assert.match(r.stderr, message);
      continue;
    }
    assert.equal(r.json.ok, false);
    assert.equal(r.json.error, 'invalid_arguments');
    assert.match(r.json.message, message, words.join(' '));
    assert.ok(r.json.hints.length >= 1);
  }
});

test('without --json a usage error is on stderr alone and moves no cursor', async (s) => {
  const r = await s.abide(['\u001b[2Jevil\n']);
  assert.equal(r.code, 2);
  assert.equal(r.stdout, '');
  assert.match(r.stderr, /^abide: There is no verb `\\x1B\[2Jevil\\x0A`\.$/m);
  assert.match(r.stderr, /^next: /m);
  assert.ok(!r.stderr.includes('\u001b'));
});

test('a slip gets the nearest name as a hint', async (s) => {
  for (const [word, near] of [['hlep', 'help'], ['hepl', 'help'], ['hel', 'help'], ['helpp', 'help'], ['HELP', null], ['xyzzy', null]]) {
    const e = await s.refused([word], 'invalid_arguments');
    const hint = e.hints.find((h) => h.startsWith('Did you mean'));
    assert.equal(hint ?? null, near && `Did you mean \`abide ${near}\`?`, word);
  }
  const e = await s.refused(['help', '--colour=never'], 'invalid_arguments');
  assert.ok(e.hints.includes('Did you mean `--color`?'));
});

test('after -- everything is a word', async (s) => {
  assert.equal((await s.abide(['help', '--', 'help'])).code, 0);
  assert.equal((await s.abide(['--', 'help'])).code, 0);
  const r = await s.abide(['help', '--', '--version']);
  assert.equal(r.code, 2);
  assert.match(r.stderr, /no verb `--version`/);
});

test('a forgotten value does not swallow the option behind it', async (s) => {
  const e = await s.refused(['help', '--color', '--version'], 'invalid_arguments');
  assert.match(e.hints.join('\n'), /`--color=--version`/);
});

test('values are taken after a space and after an equals sign', async (s) => {
  for (const words of [['help', '--color', 'never'], ['help', '--color=never'], ['--color', 'never', 'help'], ['-C/', 'help'], ['-C', '/', 'help']]) {
    assert.equal((await s.abide(words)).code, 0, words.join(' '));
  }
});

test('an answer that cannot be written is a failure that stderr tells', async (s) => {
  for (const words of [['help'], ['help', '--json'], ['--version'], ['help', 'nope', '--json']]) {
    const wanted = words.includes('nope') ? 2 : 1;
    for (const sink of ['>/dev/full', '>&-', '| true']) {
      const text = sink === '| true'
        ? `{ sleep 0.05; '${abideBin}' ${words.join(' ')} || echo "code $?" >&2; } | exec 0<&-`
        : `'${abideBin}' ${words.join(' ')} ${sink} || echo "code $?" >&2`;
      const r = await s.run('/bin/sh', ['-c', text]);
      assert.match(r.stderr, new RegExp(`code ${wanted}`), `${words} ${sink}`);
      assert.match(r.stderr, /abide: the answer could not be written to stdout: \w/, `${words} ${sink}`);
    }
  }
});

test('closed standard streams give their numbers to no file', async (s) => {
  const r = await s.repo();
  await s.sh(`'${abideBin}' help <&- >&- 2>&- || true`);
  const out = await s.sh(`'${abideBin}' help --json <&- 2>&-`);
  assert.equal(JSON.parse(out).ok, true);
  assert.equal(r.git(['status', '--porcelain']), '');
});

test('outside a repository every verb that needs one says so', async (s) => {
  for (const verb of verbs) {
    const r = await s.abide([verb, '--json'], { cwd: s.dir });
    if (r.json.ok || r.json.error === 'invalid_arguments') continue;
    assert.equal(r.json.error, 'no_repository', `${verb}: ${r.stdout}`);
    assert.equal(r.code, 1);
    assert.ok(r.json.hints.length >= 1);
  }
});

test('a folder of -C that is missing, or no folder, is refused', async (s) => {
  const file = s.write('file', '');
  for (const verb of looking) {
    for (const dir of [`${s.dir}/missing`, file, `${s.dir}/missing/deeper`]) {
      const e = await s.refused(['-C', dir, verb], 'no_repository');
      assert.ok(e.hints.length >= 1);
    }
  }
});

test('a working directory that was removed is refused in words', async (s) => {
  for (const verb of looking) {
    const dir = s.path('gone', 'x').replace(/\/x$/, '');
    mkdirSync(dir, { recursive: true });
    const r = await s.run('/bin/sh', ['-c', `rmdir '${dir}'; '${abideBin}' ${verb} --json`], { cwd: dir });
    const e = JSON.parse(r.stdout);
    assert.equal(e.error, 'no_repository');
  }
});

test('what a signal breaks off ends as by the signal, with the envelope', async (s) => {
  const r = await s.repo();
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]]) {
    const waiting = s.spawnAbide(['await', '--trunk-moved', '--json'], { cwd: r.dir });
    await waiting.idle();
    waiting.kill(signal);
    const ended = await waiting.done();
    assert.equal(ended.code, code);
    assert.equal(ended.signal, null);
    assert.equal(ended.json.verb, 'await');
  }
});

test('a Ctrl-C that reaches git, too, is told as an interruption and not as a failure of git', async (s) => {
  await s.repo();
  const git = (await s.sh('command -v git')).trim();
  s.program('git', `case "$*" in *for-each-ref*) kill -INT $PPID; kill -INT $$; sleep 100;; *) exec '${git}' "$@";; esac`);
  const ended = await s.abide(['await', '--trunk-moved', '--json']);
  assert.equal(ended.code, 130);
  assert.equal(ended.json.error, 'cancelled');
  assert.match(ended.json.message, /SIGINT/);
});
