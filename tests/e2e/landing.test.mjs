import { existsSync, readFileSync, writeFileSync, chmodSync } from 'node:fs';
import { test, assert, waitFor } from './lib/index.mjs';

const hasNote = (r, commit) => r.git(['notes', '--ref=refs/notes/abide', 'list', commit], { ok: [1] }).code === 0;

async function ready(s, files = { 'work.txt': 'work\n' }, options = {}) {
  const r = await s.repo({ gate: { test: 'true' }, ...options });
  const t = await s.ok(['start', 'fix', '--exact'], { cwd: r.dir });
  t.tip = r.commit(files, 'work', { cwd: t.path });
  t.base = r.tip('main');
  return { r, t };
}
const hook = (r, name, text) => {
  writeFileSync(`${r.gitDir}/hooks/${name}`, `#!/bin/sh\n${text}\n`);
  chmodSync(`${r.gitDir}/hooks/${name}`, 0o755);
};
const killed = (s, at) => s.abide(['accept', 'fix', '--json'], { env: { ABIDE_TEST_KILL_AT: at } });

// Where accept dies, and whether the trunk has moved by then.
const steps = {
  'land:journalled': false,
  'land:turn': false,
  'land:checked': false,
  'land:proven': false,
  'land:receipt': false,
  'land:receipt-written': false,
  'land:moving': false,
  'ff:before-merge': false,
  'ff:after-merge': true,
  'land:moved': true,
  'land:removing': true,
  'land:removed': true,
  'land:ended': true,
};
for (const [at, moved] of Object.entries(steps)) {
  test(`accept killed at ${at} is ${moved ? 'finished' : 'undone'} by the next verb`, async (s) => {
    const { r, t } = await ready(s);
    assert.equal((await killed(s, at)).signal, 'SIGKILL');
    assert.equal(r.tip('main'), moved ? t.tip : t.base);
    const seen = await s.ok(['status']);
    assert.equal(seen.landing_queue.length, 0);
    assert.equal(r.tip('main'), moved ? t.tip : t.base);
    assert.equal(hasNote(r, t.tip), moved);
    assert.equal(existsSync(t.path), !moved);
    assert.equal(r.tip('agent/fix'), moved ? null : t.tip);
    assert.equal(r.git(['status', '--porcelain']), '');
    if (moved) return;
    // It lands when it is asked for again, once.
    assert.equal((await s.ok(['accept', 'fix'])).commit, t.tip);
    assert.equal(r.tip('main'), t.tip);
    assert.equal(hasNote(r, t.tip), true);
  });
}

test('accept killed while git moves the trunk: git goes on, and the next verb sees how it ended', async (s) => {
  const { r, t } = await ready(s);
  const held = s.fifo();
  hook(r, 'post-merge', held.script);
  const p = killed(s, 'ff:merging');
  assert.equal((await p).signal, 'SIGKILL');
  await held.reached();
  assert.equal(r.tip('main'), t.tip);
  await s.ok(['status']);
  assert.equal(existsSync(t.path), false);
  assert.equal(hasNote(r, t.tip), true);
  await held.release();
});

test('a landing that cannot be written down is refused; one whose note cannot is told', async (s) => {
  const { r, t } = await ready(s);
  await s.abide(['accept', 'fix', '--json'], { env: { ABIDE_TEST_FAIL_AT: 'store:begin' } }).then((x) => {
    assert.equal(x.json.error, 'write_denied');
  });
  assert.equal(r.tip('main'), t.base);
  const x = await s.abide(['accept', 'fix', '--json'], { env: { ABIDE_TEST_FAIL_AT: 'notes:write' } });
  assert.equal(x.json.ok, true, x.stdout);
  assert.equal(x.json.data.receipt, undefined);
  assert.match(x.json.warnings.join(' '), /no receipt/);
  assert.equal(r.tip('main'), t.tip);
});

test('changes in the trunk checkout that do not overlap are kept', async (s) => {
  const { r, t } = await ready(s);
  s.write(`${r.dir}/src/main.txt`, 'mine\n');
  s.write(`${r.dir}/untracked.txt`, 'mine\n');
  await s.ok(['accept', 'fix']);
  assert.equal(r.tip('main'), t.tip);
  assert.equal(r.git(['status', '--porcelain']), ' M src/main.txt\n?? untracked.txt');
});

test('files in the way are named, ignored ones too, and nothing is lost', async (s) => {
  const { r, t } = await ready(s, { 'work.txt': 'x', '.env': 'theirs' }, { files: { '.gitignore': '.env\n' } });
  s.write(`${r.dir}/.env`, 'mine');
  const e = await s.refused(['accept', 'fix'], 'would_lose');
  assert.deepEqual(e.data.files, ['.env']);
  assert.equal(readFileSync(`${r.dir}/.env`, 'utf8'), 'mine');
  assert.equal(r.tip('main'), t.base);
  assert.equal(existsSync(t.path), true);
});

test('a parked trunk checkout, and several of them, are refused', async (s) => {
  const { r, t } = await ready(s);
  writeFileSync(`${r.gitDir}/CHERRY_PICK_HEAD`, `${t.base}\n`);
  const e = await s.refused(['accept', 'fix'], 'trunk_parked');
  assert.equal(e.data.parked, 'cherry-pick');
  s.git(['cherry-pick', '--quit'], { cwd: r.dir });
  r.git(['worktree', 'add', '--quiet', '-f', s.path('second'), 'main']);
  await s.refused(['accept', 'fix'], 'busy');
  assert.equal(r.tip('main'), t.base);
});

test('a veto of the reference-transaction hook leaves everything as it was', async (s) => {
  const { r, t } = await ready(s);
  await s.ok(['done', 'fix']);
  hook(r, 'reference-transaction', 'if [ "$1" = prepared ] && grep -q refs/heads/main; then echo not today >&2; exit 1; fi');
  const e = await s.refused(['accept', 'fix'], 'git_failed');
  assert.match(e.message, /not today/);
  assert.equal(r.tip('main'), t.base);
  assert.equal(r.git(['status', '--porcelain']), '');
  assert.equal(hasNote(r, t.tip), false);
});

test('a trunk moved by hand while the gate ran is told, and a commit made meanwhile does not land', async (s) => {
  const gate = s.fifo();
  const { r, t } = await ready(s, undefined, { gate: { slow: gate.script } });
  r.git(['checkout', '--quiet', '--detach']);
  const p = s.spawnAbide(['accept', 'fix', '--json']);
  await gate.reached();
  const byHand = r.commitOn('main', { 'hand.txt': 'x' });
  await gate.release();
  const e = JSON.parse((await p.done()).stdout);
  assert.equal(e.error, 'behind_trunk');
  assert.equal(r.tip('main'), byHand);
  assert.equal(hasNote(r, t.tip), false);
});

test('two accepts of one task land it once', async (s) => {
  const gate = s.fifo();
  const { r, t } = await ready(s, undefined, { gate: { slow: gate.script } });
  const one = s.spawnAbide(['accept', 'fix', '--json']);
  await gate.reached();
  const two = s.spawnAbide(['accept', 'fix', '--json']);
  await two.line('waiting for 1 landing', { timeout: 100 }).catch(() => {});
  await waitFor(async () => (await s.ok(['status'])).landing_queue.length === 2, { what: 'both queue' });
  await gate.release();
  const answers = [await one.done(), await two.done()].map((x) => JSON.parse(x.stdout));
  assert.equal(answers[0].ok, true, JSON.stringify(answers));
  assert.equal(answers[1].data.already, true, JSON.stringify(answers));
  assert.equal(r.tip('main'), t.tip);
  assert.equal(r.git(['rev-list', '--count', 'main']).trim(), '2');
});

test('many accepts at once: each lands or is told why, and the trunk stays linear', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const tasks = [];
  for (let i = 0; i < 6; i++) {
    const t = await s.ok(['start', `t${i}`, '--exact'], { cwd: r.dir });
    r.commit({ [`t${i}.txt`]: 'x' }, `t${i}`, { cwd: t.path });
    tasks.push(t);
  }
  const all = tasks.map((t) => s.spawnAbide(['accept', t.id, '--json']));
  const answers = (await Promise.all(all.map((p) => p.done({ timeout: 100000 })))).map((x) => JSON.parse(x.stdout));
  const landed = answers.filter((x) => x.ok);
  assert.ok(landed.length >= 1);
  for (const x of answers) if (!x.ok) assert.equal(x.error, 'behind_trunk', JSON.stringify(x));
  assert.equal(r.git(['rev-list', '--merges', '--count', 'main']).trim(), '0');
  assert.equal(Number(r.git(['rev-list', '--count', 'main'])), 1 + landed.length);
  for (const x of landed) assert.equal(hasNote(r, x.data.commit), true);
});
