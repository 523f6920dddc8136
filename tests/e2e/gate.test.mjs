// What the gate says about a commit: who may be judged, verdicts, proofs.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, eachZoo, assert, fileTreeDigest, gateYaml, lacksNamespaces, waitFor, wraps } from './lib/index.mjs';

/** A repository with a gate and one task with work in it: {r, tree, tip}. */
async function task(s, gate, { files = { 'work.txt': 'work\n' }, ...more } = {}) {
  const r = await s.repo({ gate, ...more });
  const tree = r.worktree('feature');
  const tip = r.commit(files, 'work', { cwd: tree });
  return { r, tree, tip };
}
const count = (path) => readFileSync(path, 'utf8').split('\n').length - 1;

test('a green gate leaves a proof that the next call returns without running it', async (s) => {
  const ran = s.write('ran', '');
  const { r, tree, tip } = await task(s, { build: `echo b >>${ran}`, test: { run: `echo t >>${ran}`, needs: ['build'] } });
  const first = await s.ok(['done'], { cwd: tree });
  assert.equal(first.verdict, 'passed');
  assert.equal(first.gate_ran, true);
  assert.equal(first.commit, tip);
  assert.equal(first.tree, r.git(['rev-parse', `${tip}^{tree}`]));
  assert.match(first.gate_digest, /^[0-9a-f]{64}$/);
  assert.deepEqual(first.jobs.map((j) => [j.name, j.state, j.exit]), [['build', 'passed', 0], ['test', 'passed', 0]]);
  assert.equal(readFileSync(ran, 'utf8'), 'b\nt\n');
  const again = await s.ok(['done', 'feature'], { cwd: r.dir });
  assert.equal(again.gate_ran, false);
  assert.equal(again.run, first.run);
  assert.equal(count(ran), 2);
  assert.equal((await s.ok(['done', '--rerun'], { cwd: tree })).gate_ran, true);
  assert.equal(count(ran), 4);
});

test('hints name the task where the caller does not stand in it', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  const hint = async (cwd) => (await s.abide(['done', 'feature', '--json'], { cwd })).json.hints[0];
  assert.equal(await hint(tree), 'Land it with `abide accept`.');
  assert.equal(await hint(r.dir), 'Land it with `abide accept feature`.');
});

test('a new commit makes the proof stale', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  await s.ok(['done'], { cwd: tree });
  const tip = r.commit({ 'more.txt': '1' }, 'more', { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(d.gate_ran, true);
  assert.equal(d.commit, tip);
});

test('a red gate tells the job, its exit status, its last lines and its log, and runs again', async (s) => {
  const ran = s.write('ran', '');
  const { tree, tip } = await task(s, { test: `echo x >>${ran}; i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; exit 7` });
  const e = await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.match(e.message, /`test` failed with exit status 7/);
  const [job] = e.data.jobs;
  assert.equal(e.data.verdict, 'red');
  assert.equal(e.data.commit, tip);
  assert.equal(job.exit, 7);
  const lines = job.tail.split('\n');
  assert.equal(lines.length, 40);
  assert.equal(lines.at(-1), 'line 99');
  assert.equal(readFileSync(job.log, 'utf8').split('\n').length, 101);
  assert.ok(e.hints.some((h) => h.includes(job.log)));
  await s.refused(['done'], 'gate_red', { cwd: tree });
  assert.equal(count(ran), 2);
});

test('a red rerun takes the proof away', async (s) => {
  const flag = s.write('flag', '0');
  const { tree } = await task(s, { test: `exit $(cat ${flag})` });
  await s.ok(['done'], { cwd: tree });
  writeFileSync(flag, '1');
  await s.refused(['done', '--rerun'], 'gate_red', { cwd: tree });
  await s.refused(['done'], 'gate_red', { cwd: tree });
  writeFileSync(flag, '0');
  assert.equal((await s.ok(['done'], { cwd: tree })).gate_ran, true);
});

test('people see each job with its time, and of a failure the last lines and the log', async (s) => {
  const { tree } = await task(s, { good: 'true', bad: 'printf "\\033[31mred\\ttext\\033[0m\\n"; exit 2', never: { run: 'true', needs: ['bad'] } });
  const x = await s.abide(['done'], { cwd: tree });
  assert.equal(x.code, 1);
  assert.equal(x.stdout, '');
  assert.match(x.stderr, /passed +good +\d+ ms/);
  assert.match(x.stderr, /failed +bad +\d+ ms, exit status 2/);
  assert.match(x.stderr, /skipped +never\n/);
  assert.match(x.stderr, /last lines of bad \(all of it: .*bad\.log\)\n +red +text\n/);
  assert.ok(!x.stderr.includes('\x1b'));
  assert.match(x.stderr, /abide: The gate of [0-9a-f]{10} is red: `bad` failed/);
});

test('without a gate nothing is green, and an example is given', async (s) => {
  const r = await s.repo({ yaml: 'trunk: main\n' });
  const tree = r.worktree('feature');
  r.commit({ a: '1' }, 'work', { cwd: tree });
  const e = await s.refused(['done'], 'gate_undefined', { cwd: tree });
  assert.match(e.message, /declares no `gate`/);
  writeFileSync(join(tree, 'abide.yaml'), `${e.data.example.replace('make check', 'true')}\n`);
  r.commit({}, 'nothing', { cwd: tree });
  s.git(['commit', '-qam', 'gate'], { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(d.gate_changed, true);
});

test('an empty gate and a missing file are no gate', async (s) => {
  const r = await s.repo();
  const tree = r.worktree('feature');
  r.commit({ a: '1' }, 'work', { cwd: tree });
  assert.match((await s.refused(['done'], 'gate_undefined', { cwd: tree })).message, /is missing/);
});

test('the gate is the one of the commit, and one that differs from the trunk is told', async (s) => {
  const { r, tree } = await task(s, { test: 'exit 1' });
  r.commit({ 'abide.yaml': gateYaml({ test: 'true' }) }, 'mend the gate', { cwd: tree });
  const x = await s.abide(['done', '--json'], { cwd: tree });
  assert.equal(x.json.data.verdict, 'passed');
  assert.equal(x.json.data.gate_changed, true);
  assert.equal(x.json.warnings.length, 1);
  // What stands uncommitted in the worktree counts for nothing, and is refused.
  writeFileSync(join(tree, 'abide.yaml'), gateYaml({ test: 'exit 1' }));
  await s.refused(['done'], 'dirty_worktree', { cwd: tree });
});

test('a wrong configuration is refused by line and key', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  r.commit({ 'abide.yaml': 'gate: [{name: test, rum: x}]\n' }, 'typo', { cwd: tree });
  assert.match((await s.refused(['done'], 'config_invalid', { cwd: tree })).message, /rum/);
});

test('uncommitted and untracked files are refused by name, ignored ones are not', async (s) => {
  const { r, tree } = await task(s, { test: 'true' }, { files: { 'work.txt': 'w', '.gitignore': 'out/\n' } });
  for (const [file, text] of [['new file.txt', 'n'], ['work.txt', 'changed']]) {
    writeFileSync(join(tree, file), text);
    const before = fileTreeDigest(r.gitDir, { ignore: (p) => p.startsWith('abide') });
    const e = await s.refused(['done'], 'dirty_worktree', { cwd: tree });
    assert.deepEqual(e.data.files, [file]);
    assert.equal(e.data.files_total, 1);
    assert.equal(fileTreeDigest(r.gitDir, { ignore: (p) => p.startsWith('abide') }), before);
    s.git(['stash', '-qu'], { cwd: tree });
  }
  await s.sh('mkdir out; echo x >out/x', { cwd: tree });
  await s.ok(['done'], { cwd: tree });
});

test('staged changes alone are dirty, too', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  await s.sh('echo 2 >work.txt; git add work.txt; git show HEAD:work.txt >work.txt', { cwd: tree });
  await s.refused(['done'], 'dirty_worktree', { cwd: tree });
});

test('behind the trunk is told first, also of a dirty worktree', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  r.commitOn('main', { other: '1' });
  const tip = r.commitOn('main', { other: '2' });
  writeFileSync(join(tree, 'dirt'), '');
  const e = await s.refused(['done'], 'behind_trunk', { cwd: tree });
  assert.equal(e.data.behind, 2);
  assert.equal(e.data.trunk_tip, tip);
  assert.ok(e.hints.some((h) => h.includes('abide update')));
});

test('a task without work of its own is refused', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const tree = r.worktree('feature');
  await s.refused(['done'], 'no_commits', { cwd: tree });
});

test('only a task is judged: not the trunk, not a detached HEAD, not a branch without worktree', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  await s.refused(['done'], 'not_on_task', { cwd: r.dir });
  await s.refused(['done', 'main'], 'not_on_task', { cwd: r.dir });
  r.commitOn('lonely', { a: '1' });
  await s.refused(['done', 'lonely'], 'unknown_target', { cwd: r.dir });
  await s.refused(['done', 'nothing'], 'unknown_target', { cwd: r.dir });
  const odd = await s.abide(['done', '--json', '--', '--upload-pack=x'], { cwd: r.dir });
  assert.equal(odd.json.error, 'unknown_target');
  s.git(['checkout', '-q', '--detach'], { cwd: tree });
  await s.refused(['done'], 'not_on_task', { cwd: tree });
});

test('in the middle of a rebase nothing is judged', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  r.commit({ 'b.txt': '1' }, 'more', { cwd: tree });
  s.git(['-c', 'sequence.editor=sed -i s/^pick/edit/', 'rebase', '-q', '-i', '--force-rebase', 'HEAD~2'], { cwd: tree });
  const e = await s.refused(['done'], 'not_on_task', { cwd: tree });
  assert.match(e.message, /rebase/);
});

test('the main checkout on a feature branch is judged as well', async (s) => {
  const r = await s.repo({ gate: { test: 'test -f work.txt' } });
  s.git(['checkout', '-qb', 'feature'], { cwd: r.dir });
  r.commit({ 'work.txt': '' });
  assert.equal((await s.ok(['done'])).verdict, 'passed');
});

test('a worktree whose .git was changed is not touched', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  writeFileSync(join(tree, '.git'), `gitdir: ${r.dir}/elsewhere\n`);
  await s.refused(['done', 'feature'], 'worktree_tampered', { cwd: r.dir });
});

test('usage: cancel does not go with what runs a gate, times are whole seconds', async (s) => {
  const { tree } = await task(s, { test: 'true' });
  for (const args of [['--cancel', '--rerun'], ['--cancel', '--detach-after', '1'], ['--detach-after', '-1'], ['--detach-after', '1.5'], ['a', 'b']]) {
    await s.refused(['done', ...args], 'invalid_arguments', { cwd: tree });
  }
});

test('a store that cannot be written refuses a run, and still tells a proof', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  const e = await s.abide(['done', '--json'], { cwd: tree, env: { ABIDE_TEST_FAIL_AT: 'store:begin' } });
  assert.equal(e.json.error, 'write_denied');
  await s.ok(['done'], { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree, env: { ABIDE_TEST_FAIL_AT: 'store:begin' } });
  assert.equal(d.gate_ran, false);
  assert.ok(r.hasStore());
});

test('a configuration of the trunk that is wrong does not stop a task that mends it', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  r.commitOn('main', { 'abide.yaml': 'gates: 1\n' });
  s.git(['merge', '-q', 'main'], { cwd: tree });
  r.commit({ 'abide.yaml': gateYaml({ test: 'true' }) }, 'mend', { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(d.verdict, 'passed');
  assert.equal(d.gate_changed, true);
});

test('of each branch the ten newest runs are kept, with their logs', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  for (let i = 0; i < 12; i++) await s.ok(['done', '--rerun'], { cwd: tree });
  await waitFor(() => readdirSync(join(r.store, 'logs')).length === 10, { what: 'old logs go' });
  assert.deepEqual(readdirSync(join(r.store, 'logs')).map(Number).sort((a, b) => a - b), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

test('runs of a commit that is gone are forgotten', async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  const first = await s.ok(['done'], { cwd: tree });
  s.git(['commit', '-q', '--amend', '-m', 'other'], { cwd: tree });
  r.git(['reflog', 'expire', '--expire=all', '--expire-unreachable=all', '--all']);
  s.git(['reflog', 'expire', '--expire=all', '--expire-unreachable=all', '--all'], { cwd: tree });
  r.git(['gc', '-q', '--prune=now']);
  await s.ok(['done'], { cwd: tree });
  await waitFor(() => !existsSync(first.log_dir), { what: 'the logs of the lost commit go' });
});

eachZoo('done judges a task', async (s, r, animal) => {
  if (animal.unborn) {
    await s.refused(['done'], 'no_commits');
    return;
  }
  const tree = r.worktree(r.task);
  r.commit({ 'abide.yaml': gateYaml({ test: 'test -z "$GIT_DIR$GIT_WORK_TREE" && git rev-parse HEAD' }) }, 'gate', { cwd: tree });
  const d = await s.ok(['done'], { cwd: tree });
  assert.equal(d.verdict, 'passed');
  assert.equal(d.commit, r.tip(r.task));
  assert.equal(readFileSync(d.jobs[0].log, 'utf8').trim(), d.commit);
  assert.equal((await s.ok(['done', `refs/heads/${r.task}`], { cwd: r.dir })).gate_ran, false);
});

test('on a full disk and in a read-only repository a run is refused, and a proof is told', { skip: lacksNamespaces() }, async (s) => {
  const { r, tree } = await task(s, { test: 'true' });
  await s.ok(['done'], { cwd: tree });
  for (const wrap of [wraps.readOnly(r.gitDir), wraps.fullDisk(r.gitDir)]) {
    const d = await s.ok(['done'], { cwd: tree, wrap });
    assert.equal(d.gate_ran, false);
    await s.refused(['done', '--rerun'], 'write_denied', { cwd: tree, wrap });
  }
});
