import { existsSync, readFileSync } from 'node:fs';
import { test, eachZoo, assert, gateYaml, waitFor } from './lib/index.mjs';

const note = (r, commit) => r.git(['notes', '--ref=refs/notes/abide', 'show', commit], { ok: [1] });
const hasNote = (r, commit) => note(r, commit).code === 0;

/** A task with one commit, ready to land. */
async function task(s, r, name = 'fix', files = { 'work.txt': `${name}\n` }) {
  const t = await s.ok(['start', name, '--exact'], { cwd: r.dir });
  t.tip = r.commit(files, `work of ${name}`, { cwd: t.path });
  return t;
}

test('accept lands the tested tree with a receipt, then cleans up', async (s) => {
  const r = await s.repo({ gate: { test: 'test -f work.txt' } });
  const base = r.tip('main');
  const t = await task(s, r);
  const d = await s.ok(['accept', 'fix']);
  assert.equal(d.commit, t.tip);
  assert.equal(r.tip('main'), t.tip);
  assert.equal(d.trunk_before, base);
  assert.equal(d.tree, r.git(['rev-parse', 'main^{tree}']).trim());
  assert.equal(d.gate_ran, true);
  assert.equal(d.removed, true);
  assert.equal(d.branch_deleted, true);
  assert.equal(d.leaving, false);
  assert.equal(existsSync(t.path), false);
  assert.equal(r.tip('agent/fix'), null);
  assert.equal(readFileSync(`${r.dir}/work.txt`, 'utf8'), 'fix\n');
  assert.equal(r.git(['status', '--porcelain']), '');
  const receipt = JSON.parse(note(r, t.tip).stdout);
  assert.deepEqual(receipt, d.receipt);
  assert.equal(receipt.abide_receipt, 1);
  assert.equal(receipt.branch, 'agent/fix');
  assert.equal(receipt.head, t.tip);
  assert.equal(receipt.tip, t.tip);
  assert.equal(receipt.tree, d.tree);
  assert.equal(receipt.base, base);
  assert.equal(receipt.trunk, 'main');
  assert.deepEqual(receipt.proof.jobs.map((j) => [j.name, j.exit]), [['test', 0]]);
  assert.equal(receipt.accepted.by, 'Test Person <person@example.test>');
  assert.equal(receipt.accepted.surface, 'cli');
});

test('a proof that is there is honoured, and the gate is not run again', async (s) => {
  const runs = s.path('runs');
  const r = await s.repo({ gate: { test: `echo run >>${runs}` } });
  const t = await task(s, r);
  await s.ok(['done', 'fix']);
  const d = await s.ok(['accept', 'fix']);
  assert.equal(d.gate_ran, false);
  assert.equal(r.tip('main'), t.tip);
  assert.equal(readFileSync(runs, 'utf8'), 'run\n');
});

test('a red gate lands nothing and removes nothing', async (s) => {
  const r = await s.repo({ gate: { test: 'echo broken; exit 3' } });
  const base = r.tip('main');
  const t = await task(s, r);
  const e = await s.refused(['accept', 'fix'], 'gate_red');
  assert.equal(e.data.jobs[0].exit, 3);
  assert.equal(r.tip('main'), base);
  assert.equal(existsSync(t.path), true);
  assert.equal(hasNote(r, t.tip), false);
});

test('what cannot land is refused, and nothing is changed by that', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const base = r.tip('main');
  await s.refused(['accept'], 'not_on_task');
  await s.refused(['accept', 'nobody'], 'unknown_target');
  const t = await s.ok(['start', 'fix', '--exact']);
  await s.refused(['accept', 'fix'], 'no_commits');
  r.commit({ 'work.txt': 'x' }, 'work', { cwd: t.path });
  s.write(`${t.path}/stray.txt`, 'x');
  assert.deepEqual((await s.refused(['accept', 'fix'], 'dirty_worktree')).data.files, ['stray.txt']);
  await s.sh(`rm stray.txt`, { cwd: t.path });
  r.git(['worktree', 'lock', '--reason', 'not now', t.path]);
  assert.match((await s.refused(['accept', 'fix'], 'worktree_locked')).message, /not now/);
  r.git(['worktree', 'unlock', t.path]);
  assert.equal(r.tip('main'), base);
  r.commitOn('main', { 'other.txt': 'x' });
  r.git(['reset', '--quiet', '--hard']);
  const e = await s.refused(['accept', 'fix'], 'behind_trunk');
  assert.match(e.hints.join(' '), /abide update/);
  r.commit({ 'abide.yaml': null }, 'no gate', { cwd: t.path });
});

test('a task without a gate is refused', async (s) => {
  const r = await s.repo();
  await task(s, r);
  await s.refused(['accept', 'fix'], 'gate_undefined');
});

test('accept.require: human wants a person', async (s) => {
  const r = await s.repo({ gate: { test: 'true' }, yaml: 'accept: {require: human}\n' });
  const base = r.tip('main');
  await task(s, r);
  const e = await s.refused(['accept', 'fix'], 'approval_required');
  assert.equal(e.data.reason, 'accept.require');
  assert.equal(r.tip('main'), base);
});

test('a changed gate lands as accept.gate_changes of the trunk says', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  // The task's own file does not decide about itself.
  const yaml = gateYaml({ test: 'true', more: 'true' }, 'accept: {gate_changes: allow}\n');
  const t = await task(s, r, 'fix', { 'abide.yaml': yaml });
  const e = await s.refused(['accept', 'fix'], 'approval_required');
  assert.equal(e.data.reason, 'accept.gate_changes');
  const policy = (word) => {
    r.commit({ 'abide.yaml': gateYaml({ test: 'true' }, `accept: {gate_changes: ${word}}\n`) }, word);
    s.git(['merge', '--quiet', '-s', 'ours', '--no-edit', 'main'], { cwd: t.path });
  };
  policy('refuse');
  await s.refused(['accept', 'fix'], 'gate_changed');
  policy('allow');
  const d = await s.ok(['accept', 'fix']);
  assert.equal(d.gate_changed, true);
  assert.equal(d.receipt.gate_changed, true);
});

test('--dry-run says what would happen and changes nothing', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r);
  const before = r.refs();
  const d = await s.ok(['accept', 'fix', '--dry-run']);
  assert.equal(d.dry_run, true);
  assert.equal(d.commit, t.tip);
  assert.equal(d.gate_needed, true);
  assert.equal(d.would_remove, true);
  assert.equal(d.ahead, 0);
  assert.deepEqual(r.refs(), before);
  await s.ok(['done', 'fix']);
  assert.equal((await s.ok(['accept', 'fix', '--dry-run'])).gate_needed, false);
  s.write(`${r.dir}/work.txt`, 'mine');
  await s.refused(['accept', 'fix', '--dry-run'], 'would_lose');
});

test('--keep and accept.keep keep branch and worktree, which can land again', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r);
  const d = await s.ok(['accept', 'fix', '--keep']);
  assert.equal(d.removed, false);
  assert.equal(r.tip('agent/fix'), t.tip);
  // The same once more: it has landed, and is told so.
  const again = await s.ok(['accept', 'fix']);
  assert.equal(again.already, true);
  assert.equal(again.commit, t.tip);
  const next = r.commit({ 'abide.yaml': gateYaml({ test: 'true' }, 'accept: {keep: true}\n') }, 'keep', { cwd: t.path });
  assert.equal((await s.ok(['accept', 'fix', '--keep'])).commit, next);
  const last = r.commit({ 'more.txt': 'x' }, 'more', { cwd: t.path });
  assert.equal((await s.ok(['accept', 'fix'])).removed, false);
  assert.equal(r.tip('main'), last);
  for (const commit of [t.tip, next, last]) assert.equal(hasNote(r, commit), true);
});

test('a worktree that start did not make is landed and kept', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const path = r.worktree('theirs');
  const tip = r.commit({ 'w.txt': 'x' }, 'work', { cwd: path });
  const d = await s.ok(['accept'], { cwd: path });
  assert.equal(r.tip('main'), tip);
  assert.equal(d.removed, false);
  assert.equal(existsSync(path), true);
  assert.equal(r.tip('theirs'), tip);
  assert.equal(hasNote(r, tip), true);
});

test('in the main checkout on a feature branch, accept lands and keeps', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  r.git(['checkout', '--quiet', '-b', 'feature']);
  const tip = r.commit({ 'w.txt': 'x' });
  const d = await s.ok(['accept']);
  assert.equal(d.removed, false);
  assert.equal(r.tip('main'), tip);
  assert.equal(r.git(['symbolic-ref', 'HEAD']).trim(), 'refs/heads/feature');
  assert.equal(r.git(['status', '--porcelain']), '');
});

test('single ignored files are kept, and named', async (s) => {
  const r = await s.repo({ gate: { test: 'true' }, files: { '.gitignore': '.env\nbuild/\n' } });
  const t = await task(s, r);
  s.write(`${t.path}/.env`, 'secret');
  s.write(`${t.path}/build/out`, 'made');
  const d = await s.ok(['accept', 'fix']);
  assert.deepEqual(d.kept, ['.env']);
  assert.equal(readFileSync(`${d.kept_dir}/.env`, 'utf8'), 'secret');
  assert.equal(existsSync(`${d.kept_dir}/build`), false);
});

test('while somebody stands inside, the worktree stays; the next verb removes it', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r);
  const shell = s.spawn('sh', ['-c', 'echo here; read x'], { cwd: t.path });
  await shell.line('here');
  const d = await s.ok(['accept', 'fix']);
  assert.equal(d.leaving, true);
  assert.equal(d.removed, false);
  assert.equal(r.tip('main'), t.tip);
  assert.match(d.inside[0], / sh$/);
  assert.equal(existsSync(t.path), true);
  const seen = await s.ok(['status']);
  assert.equal(seen.tasks.find((x) => x.id === 'fix').state, 'leaving');
  assert.equal((await s.ok(['accept', 'fix'])).already, true);
  shell.end('\n');
  await shell.done();
  await s.ok(['status']);
  assert.equal(existsSync(t.path), false);
  assert.equal(r.tip('agent/fix'), null);
});

test('accept in its own worktree does not count itself', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r);
  const d = await s.ok(['accept'], { cwd: t.path });
  assert.equal(d.removed, true);
  assert.equal(existsSync(t.path), false);
});

test('a landing that was refused is told to who awaits it in its own worktree', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r, 'fix', { 'src/main.txt': 'changed\n' });
  s.write(`${r.dir}/src/main.txt`, 'mine\n');
  await s.refused(['accept', 'fix'], 'would_lose');
  const d = await s.ok(['await', '--landed', 'fix', '--timeout', '5'], { cwd: t.path, code: 124 });
  assert.equal(d.settled, 'refused', JSON.stringify(d));
  assert.match(JSON.stringify(d), /would_lose/);
  assert.match(JSON.stringify(d), /src\/main\.txt/);
});

test('--detach-after answers before the end, and await waits for the landing', async (s) => {
  const gate = s.fifo();
  const r = await s.repo({ gate: { slow: gate.script } });
  const t = await task(s, r);
  const d = await s.ok(['accept', 'fix', '--detach-after', '0']);
  assert.equal(d.running, true);
  assert.equal(d.commit, t.tip);
  await gate.reached();
  assert.notEqual(r.tip('main'), t.tip);
  const waiting = s.spawnAbide(['await', '--landed', 'fix', '--json']);
  await waiting.idle();
  await gate.release();
  assert.equal((await waiting.done()).code, 0);
  assert.equal(r.tip('main'), t.tip);
  await waitFor(() => !existsSync(t.path), { what: 'the worktree goes' });
  await waitFor(async () => (await s.ok(['status'])).landing_queue.length === 0, { what: 'the landing ends' });
});

test('--detach-after with time enough answers as accept does', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const t = await task(s, r);
  const d = await s.ok(['accept', 'fix', '--detach-after', '60'], { cwd: t.path });
  assert.equal(d.removed, true, JSON.stringify(d));
  assert.equal(d.commit, t.tip);
  const red = await task(s, r, 'red', { 'abide.yaml': gateYaml({ test: 'exit 1' }) });
  const e = await s.refused(['accept', 'red', '--detach-after', '60'], 'approval_required');
  assert.match(e.message, /gate/);
  assert.equal(existsSync(red.path), true);
});

eachZoo('accept lands in every kind of repository', { except: ['unborn'] }, async (s, r, animal) => {
  const yaml = gateYaml({ test: 'true' });
  const checkout = r.git(['worktree', 'list', '--porcelain']).split('\n\n')
    .find((x) => x.includes(`branch refs/heads/${r.trunk}\n`) || x.endsWith(`branch refs/heads/${r.trunk}`));
  if (checkout && animal.name !== 'newline-in-path') {
    r.commit({ 'abide.yaml': yaml }, 'gate', { cwd: checkout.match(/^worktree (.*)/)[1] });
  } else if (checkout) {
    r.commit({ 'abide.yaml': yaml }, 'gate');
  } else {
    r.commitOn(r.trunk, { 'abide.yaml': yaml }, 'gate');
  }
  const path = animal.oddName ? r.worktree(`${r.task}`) : (await s.ok(['start', 'work', '--exact'])).path;
  if (animal.oddName) s.git(['merge', '--quiet', '--no-edit', `refs/heads/${r.trunk}`], { cwd: path });
  const tip = r.commit({ 'src/landed.txt': 'x\n' }, 'work', { cwd: path });
  const d = await s.ok(['accept'], { cwd: path });
  assert.equal(d.commit, tip);
  assert.equal(r.tip(r.trunk), tip);
  assert.equal(hasNote(r, tip), true);
  assert.equal(d.removed, !animal.oddName);
  // Where the trunk is checked out, nothing is left to do there.
  for (const line of r.git(['worktree', 'list', '--porcelain', '-z']).split('\0\0')) {
    const at = /^worktree ([^\0]*)/.exec(line)?.[1];
    if (at && line.includes(`branch refs/heads/${r.trunk}`)) assert.equal(s.git(['status', '--porcelain'], { cwd: at }), '');
  }
});
