// The harness itself: a test that passes because the harness is blind is worse than none.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox, alive, assert, eachZoo, fileTreeDigest, gateYaml, lacksNamespaces, staysFalse, test, waitFor, wraps } from './lib/index.mjs';
import { checkEnvelope } from './lib/envelope.mjs';

test('a process that is left behind is found, named and ended', async () => {
  const s = new Sandbox();
  const child = s.spawn('/bin/sh', ['-c', 'setsid sleep 1000 & echo $!; exec 1>&- 2>&-']);
  const pid = Number((await child.line(/^(\d+)$/))[1]);
  await waitFor(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep'));
  const left = await s.close({ grace: 50 });
  assert.match(left.join('\n'), new RegExp(`process left: ${pid} sleep 1000`));
  assert.equal(alive(pid), false);
  assert.equal(existsSync(s.dir), false);
});

test('lock files, temporary files and things in the temporary folder are found', async () => {
  const s = new Sandbox();
  const r = await s.repo();
  writeFileSync(join(r.gitDir, 'index.lock'), '');
  s.write('tmp/forgotten', '');
  s.write(join(r.gitDir, 'abide/receipt.tmp'), '');
  s.write(join(r.gitDir, 'abide/landing.lock'), ''); // abide's own lock files stay
  const left = await s.close();
  assert.deepEqual(left.sort(), ['file left: repo/.git/abide/receipt.tmp', 'file left: repo/.git/index.lock', 'file left: tmp/forgotten']);
});

test('a leftover that is meant is not told', async () => {
  const s = new Sandbox();
  s.write('tmp/meant', '');
  s.allowLeftover(/^tmp\/meant$/);
  assert.deepEqual(await s.close(), []);
});

test('a sandbox leaks no GIT_ variable and has its own home', async (s) => {
  process.env.GIT_DIR = '/nowhere';
  try {
    const seen = (await s.run('env')).stdout;
    assert.doesNotMatch(seen, /^GIT_DIR=/m);
    assert.match(seen, new RegExp(`^HOME=${s.dir}/home$`, 'm'));
    assert.match(seen, /^TZ=UTC$/m);
  } finally {
    delete process.env.GIT_DIR;
  }
});

test('a fifo holds a job until it is released, with its status', async (s) => {
  const gate = s.fifo();
  const child = s.spawn('/bin/sh', ['-c', gate.script]);
  assert.equal(await gate.reached(), child.pid);
  assert.equal(child.result, null);
  await gate.release(7);
  assert.equal((await child.done()).code, 7);
});

test('lines are awaited as they come, and an early end is told', async (s) => {
  const child = s.spawn('/bin/sh', ['-c', 'echo one; read x; echo "two $x"; exit 3']);
  await child.line('one');
  child.end('words\n');
  assert.equal((await child.line(/^two (.*)$/))[1], 'words');
  await assert.rejects(child.line('three'), /ended \(code 3/);
  assert.equal((await child.done()).code, 3);
});

test('waiting gives up loudly and watching says for how long', async (s) => {
  await assert.rejects(waitFor(() => false, { timeout: 30, what: 'the impossible' }), /not within 30 ms: the impossible/);
  assert.equal(await staysFalse(() => false, { ms: 30 }), 30);
  await assert.rejects(staysFalse(() => true, { ms: 30, what: 'x' }), /happened/);
});

test('a tree digest sees content, names and modes', async (s) => {
  s.write('tree/a', '1');
  const first = fileTreeDigest(s.path('tree', '.'));
  assert.equal(fileTreeDigest(s.path('tree', '.')), first);
  s.write('tree/a', '2');
  assert.notEqual(fileTreeDigest(s.path('tree', '.')), first);
  s.write('tree/a', '1', { mode: 0o755 });
  assert.notEqual(fileTreeDigest(s.path('tree', '.')), first);
});

test('envelopes are held to their rules', async () => {
  const envelope = (object, code = 0) => () => checkEnvelope({ argv: ['x'], code, stdout: typeof object === 'string' ? object : JSON.stringify(object) + '\n', stderr: '' });
  assert.doesNotThrow(envelope({ ok: true, verb: 'none' }));
  assert.doesNotThrow(envelope({ ok: false, verb: 'none', error: 'x', message: 'y', hints: ['z'] }, 1));
  assert.throws(envelope({ ok: false, verb: 'none', error: 'x', message: 'y' }, 1), /without a hint/);
  assert.throws(envelope({ ok: true, verb: 'none', error: 'x' }), /error and message/);
  assert.throws(envelope('{"ok":true,"verb":"none"}'), /newline/);
  assert.throws(envelope('{"ok":true,"verb":"none"}\n{}\n'), /not one JSON/);
  assert.throws(envelope({ ok: true, verb: 'none' }, 1), /exit status/);
});

test('a folder is read-only or full for one process tree, and only for that', { skip: lacksNamespaces() }, async (s) => {
  s.write('bad/file', 'text');
  const dir = join(s.dir, 'bad');
  const ro = await s.run('/bin/sh', ['-c', `cat '${dir}/file'; echo x >'${dir}/new'`], { wrap: wraps.readOnly(dir) });
  assert.equal(ro.stdout, 'text');
  assert.match(ro.stderr, /Read-only/);
  const full = await s.run('/bin/sh', ['-c', `cat '${dir}/file'; head -c 9000 /dev/zero >'${dir}/new'`], { wrap: wraps.fullDisk(dir) });
  assert.equal(full.stdout, 'text');
  assert.match(full.stderr, /No space/);
  assert.equal(existsSync(join(dir, 'new')), false);
});

test('gate jobs are written as YAML', async () => {
  assert.equal(gateYaml({ a: 'true', b: { run: 'x\ny', needs: ['a'], timeout: '5s' } }, 'trunk: main'),
    'trunk: main\ngate:\n  - name: a\n    run: |\n      true\n  - name: b\n    run: |\n      x\n      y\n    needs: ["a"]\n    timeout: "5s"\n');
});

eachZoo('the repository is what its name says', async (s, r, animal) => {
  const expected = {
    unborn: () => assert.equal(r.head(), null),
    detached: () => assert.equal(r.git(['symbolic-ref', '-q', 'HEAD'], { ok: [1] }).code, 1),
    sha256: () => assert.equal(r.head().length, 64),
    'packed-refs': () => assert.equal(existsSync(join(r.gitDir, 'refs/heads/main')), false),
    'bare-worktrees': () => assert.equal(r.s.git(['rev-parse', '--is-bare-repository'], { cwd: r.bare }), 'true'),
    'linked-worktree': () => assert.notEqual(r.git(['rev-parse', '--git-dir']), r.git(['rev-parse', '--git-common-dir'])),
    sparse: () => assert.equal(existsSync(join(r.dir, 'far/away.txt')), false),
    'partial-clone': () => assert.equal(r.git(['config', 'remote.origin.partialclonefilter']), 'blob:none'),
    submodules: () => assert.ok(existsSync(join(r.dir, 'sub/.git'))),
    'newline-in-path': () => assert.match(r.dir, /\n/),
  };
  expected[animal.name]?.();
  if (animal.oddName) {
    assert.ok(r.tip(r.task));
    assert.equal(r.refs()[`refs/heads/${r.task}`], r.tip(r.task));
  }
  if (!animal.unborn) {
    const tree = r.worktree(`${animal.oddName ? '' : 'made/'}${r.task}`);
    const oid = r.commit({ 'new.txt': 'new\n' }, 'more', { cwd: tree });
    assert.equal(r.tip(`${animal.oddName ? '' : 'made/'}${r.task}`), oid);
    assert.notEqual(r.tip('main'), oid);
  }
});
